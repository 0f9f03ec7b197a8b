// The baseline cost of the runtime: a Worker that answers everything with the same two bytes.
export default {
  fetch() {
    return new Response("ok");
  },
};
