// SPDX-License-Identifier: Apache-2.0
#include "console/console.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/condition_variable.hpp"
#include "base/files/text_file.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "client/api_client.hpp"
#include "console/data/features.hpp"
#include "console/dispatch.hpp"
#include "net/serving/served_tls.hpp"
#include "net/serving/small_server.hpp"
#include "net/worker_pool.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::console {
namespace {

constexpr int kWorkers = 4;
constexpr std::size_t kMostConnections = 512;
constexpr Duration kEndpointPatience = std::chrono::seconds(5);  // of the controllers
constexpr Duration kRestAfter = std::chrono::minutes(10);        // without viewers

// The endpoint of the controllers as a server; the console's own token goes there over TLS alone.
client::ClusterConfig endpoint_config(const Settings& settings,
                                      const client::ClusterConfig& cluster) {
  client::ClusterConfig config{.server = settings.controllers_url,
                               .certificate_authority = {.file = settings.controllers_ca}};
  if (config.server.starts_with("https://")) {
    config.token = cluster.token;
    config.token_file = cluster.token_file;
  }
  return config;
}

}  // namespace

struct Console::State {
  State(ConsoleOptions given, std::shared_ptr<client::ApiClient> api, std::unique_ptr<Clock> time,
        std::unique_ptr<Entropy> random, std::unique_ptr<HistoryStore> store,
        std::unique_ptr<LogArchive> archive, std::shared_ptr<client::ApiClient> endpoints)
      : options(std::move(given)),
        clock(std::move(time)),
        entropy(std::move(random)),
        client(std::move(api)),
        port(client, options.settings.request_timeout),
        controllers(endpoints ? std::optional(ApiPort(std::move(endpoints), kEndpointPatience))
                              : std::nullopt),
        world(client, followed_kinds(options.settings), *clock, *entropy),
        board(world, options.settings, *clock, [this] { return history.rows(); }),
        history(std::move(store), *clock, options.settings.history_days, [this] { board.touch(); }),
        logs(std::move(archive)),
        access(options.settings, port, *clock, *entropy),
        follower(options.cluster),
        services{.settings = options.settings,
                 .clock = *clock,
                 .world = world,
                 .board = board,
                 .history = history,
                 .access = access,
                 .port = port,
                 .logs = *logs,
                 .follower = follower,
                 .read_logs = read_logs,
                 .simulator = options.simulator,
                 .controllers = controllers ? &*controllers : nullptr,
                 .files = options.web.empty() ? embedded_pages() : folder_pages(options.web),
                 .version = options.version,
                 .embedded = options.embedded},
        workers(kWorkers, {}) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    {
      const MutexLock lock(mutex);
      stopping = true;
    }
    news.notify_all();
    if (keeper.joinable()) {
      keeper.join();
    }
    server.reset();
    workers.stop();
    board.stop();
    world.stop();
    client->stop();
    if (controllers) {
      controllers->client().stop();
    }
  }

  Result<void> serve();
  // Records changes of AllocationClaims in the history. On the client's thread.
  void keep_slices(const std::vector<WorldChange>& changes);
  // Stops unneeded watches and frees cached logs from time to time, until the end.
  void keep();

  ConsoleOptions options;
  std::unique_ptr<Clock> clock;
  std::unique_ptr<Entropy> entropy;
  std::shared_ptr<client::ApiClient> client;
  ApiPort port;
  std::optional<ApiPort> controllers;
  World world;
  Board board;
  History history;
  std::unique_ptr<LogArchive> logs;
  Access access;
  LogFollower follower;  // its threads ask `access`
  LogCache read_logs{};
  Services services;
  net::WorkerPool workers;
  std::unique_ptr<net::SmallServer> server{};
  bool slices_listed = false;  // the client's thread alone
  Mutex mutex{};
  ConditionVariable news{};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  std::thread keeper{};
};

Result<void> Console::State::serve() {
  std::shared_ptr<net::ServedTls> tls;
  const Settings& settings = options.settings;
  if (!settings.tls_cert.empty()) {
    ATHANOR_TRY(const std::string certificate, read_text_file(settings.tls_cert));
    ATHANOR_TRY(const std::string key, read_text_file(settings.tls_key));
    tls = std::make_shared<net::ServedTls>();
    ATHANOR_TRY_VOID(tls->use(certificate, key));
  }
  world.on_change([this](const std::vector<WorldChange>& changes) {
    for (const WorldChange& change : changes) {
      if (change.kind == &api::kFournosJob && change.after) {
        history.see(*change.after);
      } else if (change.kind == &api::kFournosJob && change.before) {
        history.gone(*change.before);
      } else if (change.kind == &api::kPod && change.after) {
        logs->see(*change.after);
      } else if (change.kind == &api::kPod && change.before) {
        logs->gone(change.before->key());
      } else if (change.kind == &api::kFournosCluster && change.after) {
        history.see_cluster(*change.after);
      } else if (change.kind == &api::kFournosCluster && change.before) {
        history.cluster_gone(*change.before);
      } else if (change.kind == &api::kueue::kWorkload && change.after) {
        history.see_workload(*change.after);
      } else if (change.kind == &appwrapper::kAppWrapper && change.after) {
        history.see_appwrapper(*change.after);
      } else if (change.kind == &appwrapper::kAppWrapper && change.before) {
        history.appwrapper_gone(*change.before);
      }
    }
    keep_slices(changes);
    board.touch();
  });
  world.start();
  board.start();
  auto started = net::SmallServer::start(
      {.address = settings.address,
       .max_connections = kMostConnections,
       .tls = std::move(tls),
       .handle =
           [this](net::Request request, net::SmallServerOptions::Reply reply) {
             auto shared = std::make_shared<net::Request>(std::move(request));
             const std::string client_name = shared->peer;
             workers.submit(
                 {.user = client_name}, [this, shared, reply = std::move(reply)](bool /*overdue*/) {
                   auto response = std::make_shared<net::Response>(dispatch(*shared, services));
                   reply([response] { return std::move(*response); });
                 });
           },
       .clock = clock.get()});
  if (!started.ok()) {
    return started.error();
  }
  server = *std::move(started);
  access.listens_at(server->address());
  keeper = std::thread([this] { keep(); });
  return {};
}

void Console::State::keep_slices(const std::vector<WorldChange>& changes) {
  const bool listed = world.is_listed(das::kAllocationClaim);
  for (const WorldChange& change : changes) {
    if (change.kind != &das::kAllocationClaim) {
      continue;
    }
    if (change.after) {
      history.see_slice(*change.after);
    } else if (change.before && listed) {  // else: claims cannot be listed now
      history.slice_gone(*change.before);
    }
  }
  if (listed && !slices_listed) {
    std::set<std::string> uids;
    for (const Object& claim : world.facts()->all(das::kAllocationClaim)) {
      uids.emplace(claim.uid());
    }
    history.slices_listed(uids);
  }
  slices_listed = listed;
}

void Console::State::keep() {
  constexpr auto kLook = std::chrono::seconds(30);
  while (true) {
    {
      MutexLock lock(mutex);
      news.wait_for(lock, kLook, [this]() ATHANOR_REQUIRES(mutex) { return stopping; });
      if (stopping) {
        return;
      }
    }
    read_logs.sweep(clock->now());
    if (clock->now() - board.last_use() > kRestAfter) {
      world.rest();
    }
  }
}

Console::Console(std::unique_ptr<State> state) : state_(std::move(state)) {}

Console::~Console() = default;

Result<std::unique_ptr<Console>> Console::start(ConsoleOptions options) {
  auto clock = wall_clock();
  auto entropy = system_entropy();
  ATHANOR_TRY(auto client, client::ApiClient::open(options.cluster, *clock, *entropy));
  const Settings& settings = options.settings;
  ATHANOR_TRY(
      auto store,
      settings.database_url.empty()
          ? open_sqlite_history(options.data.empty() ? ":memory:" : options.data + "/console.db",
                                settings.jobs_ns)
          : open_postgres_history(settings.database_url, settings.jobs_ns));
  ATHANOR_TRY(auto archive,
              LogArchive::open(options.data.empty() ? ":memory:" : options.data + "/logs.db",
                               options.settings.log_archive_bytes,
                               ApiPort(client, options.settings.request_timeout)));
  std::shared_ptr<client::ApiClient> endpoints;
  if (!options.settings.controllers_url.empty()) {
    ATHANOR_TRY(endpoints,
                client::ApiClient::open(endpoint_config(options.settings, options.cluster), *clock,
                                        *entropy));
  }
  auto state = std::make_unique<State>(std::move(options), std::move(client), std::move(clock),
                                       std::move(entropy), std::move(store), std::move(archive),
                                       std::move(endpoints));
  ATHANOR_TRY_VOID(state->serve());
  return std::unique_ptr<Console>(new Console(std::move(state)));
}

std::string Console::url() const {
  const Settings& settings = state_->options.settings;
  if (!settings.public_url.empty()) {
    return settings.public_url;
  }
  return fmt::format("{}://{}{}/", settings.tls_cert.empty() ? "http" : "https",
                     state_->server->address(), settings.base_path);
}

std::string Console::address() const {
  return state_->server->address();
}

}  // namespace athanor::console
