// What the runtime costs by itself: a Worker that answers everything with the same two bytes.
export default {
  fetch() {
    return new Response("ok");
  },
};
