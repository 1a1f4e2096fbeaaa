// SPDX-License-Identifier: Apache-2.0
// The store's events into the engine's host, writes out of it. These go to the server one after
// another on a thread beside, as they would to a server elsewhere: the next keys are reconciled
// meanwhile.
#include "embedded/lab/engine_driver.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/log.hpp"
#include "embedded/bridge/calls.hpp"
#include "embedded/bridge/kind_feed.hpp"
#include "embedded/bridge/live_read.hpp"
#include "embedded/bridge/loops.hpp"
#include "embedded/lab/background_queue.hpp"
#include "runtime/engine/engine_host.hpp"
#include "runtime/engine/host_question.hpp"

namespace athanor::lab {

using runtime::Probe;
using runtime::Relist;
using runtime::SendWrite;

namespace {

runtime::EngineOptions engine_options(const DriverOptions& options) {
  ATHANOR_CHECK(options.server != nullptr && options.store != nullptr && options.entropy != nullptr,
                "the driver stands on all of these");
  return {.entropy = options.entropy,
          .config = options.config,
          .metrics = options.metrics,
          .stopwatch = options.clock,
          .instruments = options.instruments};
}

}  // namespace

struct EngineDriver::Impl : std::enable_shared_from_this<Impl> {
  Impl(std::span<const Operator* const> operators, DriverOptions driver_options)
      : options(std::move(driver_options)),
        host(std::make_shared<runtime::EngineHost>(operators, engine_options(options),
                                                   host_options())),
        feed(host->engine().kinds(), options.stored_forms),
        loops(*options.store, *options.server, options.runs_loop) {}

  runtime::HostOptions host_options();
  void take(const std::vector<store::EventPtr>& events);
  std::optional<Instant> run_loops(Instant now);
  void send(const SendWrite& send);
  void write(const SendWrite& send);
  void take_result(const SendWrite& send, const net::Response& response);
  bool probe(const Probe& probe);
  void relist(const Relist& relist);

  DriverOptions options;
  std::shared_ptr<runtime::EngineHost> host;
  // Owned by the controllers thread once it runs.
  bridge::KindFeed feed;
  bridge::Loops loops;
  std::vector<runtime::WatchEvent> converted{};

  std::shared_ptr<void> listening{};
  std::unique_ptr<BackgroundQueue> writes{};  // while the thread runs
};

runtime::HostOptions EngineDriver::Impl::host_options() {
  return {.clock = options.clock,
          .executors = options.executors,
          .world = {.write = [this](const SendWrite& one) { send(one); },
                    .relist = [this](const Relist& one) { relist(one); },
                    .probe = [this](const Probe& one) { return probe(one); },
                    .more = [this](Instant now) { return run_loops(now); }}};
}

void EngineDriver::Impl::take(const std::vector<store::EventPtr>& events) {
  loops.feed(events);
  for (const store::EventPtr& event : events) {
    converted.clear();
    feed.convert(*event, converted);
    for (runtime::WatchEvent& one : converted) {
      host->absorb(std::move(one));
    }
  }
}

// After the controllers, which users may be waiting for. What the loops write comes back through
// the inbox.
std::optional<Instant> EngineDriver::Impl::run_loops(Instant now) {
  if (loops.due(now)) {
    loops.run(now);
  }
  return loops.next_due();
}

void EngineDriver::Impl::send(const SendWrite& send) {
  auto task = [self = weak_from_this(), send] {
    if (const auto impl = self.lock()) {
      impl->write(send);
    }
  };
  if (send.urgent) {
    writes->add_urgent(std::move(task));
  } else {
    writes->add(std::move(task));
  }
}

// On the writing thread. Webhooks are not waited for: other writes go on.
void EngineDriver::Impl::write(const SendWrite& send) {
  options.server->handle_async(
      bridge::to_request(send.request), options.clock->now(),
      [self = weak_from_this()](UniqueFunction<void()> task) {
        if (const auto impl = self.lock()) {
          impl->host->post(std::move(task));
        }
      },
      [self = weak_from_this(), send](net::Response response) {
        if (const auto impl = self.lock()) {
          impl->take_result(send, response);
        }
      });
}

void EngineDriver::Impl::take_result(const SendWrite& send, const net::Response& response) {
  runtime::WriteResult result = bridge::to_result(send.id, response);
  // Lost races and objects gone meanwhile are everyday life; anything else is worth a line.
  if (result.error && result.error->code != 404 && result.error->code != 409) {
    log::warn("a controller's write was refused", {{"controller", send.op},
                                                   {"path", bridge::to_request(send.request).path},
                                                   {"code", result.error->code},
                                                   {"error", result.error->message}});
  }
  host->post(runtime::Input(std::move(result)));
}

bool EngineDriver::Impl::probe(const Probe& probe) {
  if (!bridge::is_live_read(probe.query)) {
    return false;
  }
  host->absorb(runtime::answered(probe.query, bridge::answer_live(*options.store, probe.query), 0));
  return true;
}

void EngineDriver::Impl::relist(const Relist& relist) {
  auto listed = feed.list(*options.store, *relist.kind);
  if (!listed.ok()) {
    log::warn("cannot list a kind",
              {{"kind", relist.kind->name}, {"error", listed.error().message}});
    return;
  }
  host->absorb(*std::move(listed));
}

EngineDriver::EngineDriver(std::span<const Operator* const> operators, DriverOptions options)
    : impl_(std::make_shared<Impl>(operators, std::move(options))) {}

EngineDriver::~EngineDriver() {
  stop();
}

Result<void> EngineDriver::start() {
  Impl& impl = *impl_;
  ATHANOR_CHECK(!impl.host->started(), "a driver starts once");
  // Listen first: what happens while we list comes twice rather than never.
  impl.listening =
      impl.options.store->listen([raw = impl_.get()](std::span<const store::EventPtr> events) {
        raw->host->post(runtime::EngineHost::Task(
            [raw, batch = std::vector<store::EventPtr>(events.begin(), events.end())] {
              raw->take(batch);
            }));
      });
  for (const Kind* kind : impl.host->engine().kinds()) {
    auto listed = impl.feed.list(*impl.options.store, *kind);
    if (!listed.ok()) {
      impl.listening.reset();
      return listed.error().with_context("listing " + std::string(kind->plural));
    }
    impl.host->absorb(*std::move(listed));
  }
  impl.writes = std::make_unique<BackgroundQueue>();
  impl.host->start();
  return {};
}

void EngineDriver::stop() {
  Impl& impl = *impl_;
  impl.listening.reset();
  impl.host->stop();
  impl.writes.reset();
}

void EngineDriver::observe(std::string query, Result<Value> answer) {
  impl_->host->post(runtime::Input(runtime::answered(std::move(query), std::move(answer), 0)));
}

std::string EngineDriver::state_metrics(Duration patience) const {
  return runtime::ask_host<std::string>(
             *impl_->host, patience,
             [raw = impl_.get()] {
               return raw->host->engine().state_metrics(raw->options.clock->now());
             })
      .value_or("");
}

Result<Value> EngineDriver::debug(std::size_t limit, Duration patience) const {
  auto state = runtime::ask_host<Value>(*impl_->host, patience, [raw = impl_.get(), limit] {
    return raw->host->engine().debug(raw->options.clock->now(), limit);
  });
  return state ? Result<Value>(*std::move(state))
               : Error::unavailable("the controllers thread does not answer");
}

bool EngineDriver::idle() const {
  return impl_->host->idle();
}

}  // namespace athanor::lab
