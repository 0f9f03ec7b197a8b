// A naive version in plain JavaScript: it keeps the deployment's snapshot as text, and each check parses it and picks a release.
// It does less than the edge: no version ranges, no rollouts, no signed download URLs.
import text from "snapshot.json";

const HEADERS = {
  "Content-Type": "application/json",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
  "Access-Control-Allow-Headers": "Content-Type, Accept, X-CodePush-Plugin-Name, X-CodePush-Plugin-Version, X-CodePush-SDK-Version",
  "Access-Control-Expose-Headers": "X-Request-Id",
};

export default {
  fetch(request) {
    const asked = new URL(request.url).searchParams;
    const snapshot = JSON.parse(text);
    const range = snapshot.g.indexOf(asked.get("range"));
    const release = snapshot.r.find((candidate) => !candidate.x && candidate.g === range);
    const isAvailable = release.h !== asked.get("package_hash");
    const info = {
      download_url: isAvailable ? `https://updates.example.com/v1/public/svc/bundles/${btoa(`${snapshot.a}/${release.b}`)}` : "",
      description: isAvailable ? release.n : "",
      is_available: isAvailable,
      is_mandatory: false,
      app_version: asked.get("app_version"),
      package_hash: isAvailable ? release.h : "",
      label: isAvailable ? `v${release.l}` : "",
      package_size: isAvailable ? release.s : 0,
      update_app_version: false,
      should_run_binary_version: false,
      target_binary_range: asked.get("app_version"),
    };
    return new Response(JSON.stringify({ update_info: info }), { headers: { ...HEADERS, "X-Request-Id": crypto.randomUUID() } });
  },
};
