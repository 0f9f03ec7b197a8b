# Runs the Worker on plain workerd, without Cloudflare: `workerd serve workerd.capnp`. See docs/self-hosted-edge.md.
#
# No secrets here, and nothing to edit: set addresses with command-line options (`--socket-addr http=…`, `--external-addr control=…`,
# `--external-addr bindings=…`) and everything else with environment variables.

using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = .services,
  sockets = [(name = "http", address = "127.0.0.1:8787", http = (), service = "edge")],
);

const services :List(Workerd.Service) = [
  (name = "edge", worker = .edge),
  # control's UPDRAFT_LISTEN.
  (name = "control", external = (address = "127.0.0.1:8080", http = ())),
  # control's UPDRAFT_BINDINGS_LISTEN, which replaces KV and the Queue.
  (name = "bindings", external = (address = "127.0.0.1:8081", http = ())),
];

const edge :Workerd.Worker = (
  modules = [
    (name = "entry.js", esModule = embed "build/entry.js"),
    (name = "index.js", esModule = embed "build/index.js"),
    (name = "index_bg.wasm", wasm = embed "build/index_bg.wasm"),
  ],
  # As in wrangler.toml.
  compatibilityDate = "2026-11-17",
  bindings = [
    (name = "SNAPSHOTS", kvNamespace = "bindings"),
    (name = "REPORTS", queue = "bindings"),
    # Every call goes to the service `control`, whatever this URL is, so that the Worker can reach nothing else.
    (name = "CONTROL_URL", text = "http://control.localhost"),
    (name = "BASE_URL", fromEnvironment = "BASE_URL"),
    (name = "EDGE_SECRET", fromEnvironment = "EDGE_SECRET"),
    (name = "DOWNLOAD_SECRET", fromEnvironment = "DOWNLOAD_SECRET"),
    (name = "CLIENT_ADDRESS", fromEnvironment = "CLIENT_ADDRESS"),
    (name = "LIMIT_REPORTS", fromEnvironment = "LIMIT_REPORTS"),
    (name = "LIMIT_REPORTS_ADDRESS", fromEnvironment = "LIMIT_REPORTS_ADDRESS"),
    (name = "SNAPSHOT_UNSIGNED", fromEnvironment = "SNAPSHOT_UNSIGNED"),
    (name = "VERIFY_BUNDLES", fromEnvironment = "VERIFY_BUNDLES"),
    (name = "SNAPSHOT_FRESH_MS", fromEnvironment = "SNAPSHOT_FRESH_MS"),
    (name = "SNAPSHOT_STALE_MS", fromEnvironment = "SNAPSHOT_STALE_MS"),
  ],
  globalOutbound = "control",
);
