// SPDX-License-Identifier: Apache-2.0
#include "agent/node/api_writes.hpp"

#include <optional>
#include <utility>
#include <variant>

#include "base/check.hpp"
#include "base/condition_variable.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "client/connection.hpp"
#include "cluster/write_call.hpp"
#include "runtime/engine/model/write_request.hpp"
#include "runtime/engine/plans/event_recorder.hpp"

namespace athanor::agent {
namespace {

constexpr const char* kManager = "das-daemonset";
constexpr Duration kTimeout = std::chrono::seconds(5);

client::ApiRequest request_of(runtime::WriteRequest write) {
  write.manager = kManager;
  client::ApiRequest request =
      cluster::to_request(runtime::SendWrite{.op = kManager, .request = std::move(write)});
  request.lane = client::Lane::Urgent;
  request.timeout = kTimeout;
  return request;
}

client::ApiRequest request_of(const Step& step) {
  if (const auto* patch = std::get_if<Patch>(&step)) {
    return request_of(runtime::request_for(*patch));
  }
  if (const auto* create = std::get_if<Create>(&step)) {
    return request_of(runtime::request_for(*create));
  }
  const auto* remove = std::get_if<Delete>(&step);
  ATHANOR_CHECK(remove != nullptr, "the agent patches, creates and deletes");
  return request_of(runtime::request_for(*remove));
}

// Answers that are waited for together.
struct Answers {
  Mutex mutex{};
  ConditionVariable all_there{};
  std::vector<std::optional<client::ApiResult>> results ATHANOR_GUARDED_BY(mutex){};
  std::size_t open ATHANOR_GUARDED_BY(mutex) = 0;
};

}  // namespace

ApiWrites::ApiWrites(std::shared_ptr<client::ApiClient> client, const Clock& clock,
                     Entropy& entropy)
    : client_(std::move(client)),
      clock_(clock),
      recorder_(std::make_unique<runtime::EventRecorder>(entropy)) {}

ApiWrites::~ApiWrites() = default;

Result<std::vector<Object>> ApiWrites::run(const std::vector<Step>& steps) {
  auto answers = std::make_shared<Answers>();
  {
    const MutexLock lock(answers->mutex);
    answers->results.resize(steps.size());
    answers->open = steps.size();
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    client_->send(request_of(steps[i]), [answers, i](client::ApiResult result) {
      const MutexLock lock(answers->mutex);
      answers->results[i] = std::move(result);
      if (--answers->open == 0) {
        answers->all_there.notify_one();
      }
    });
  }
  MutexLock lock(answers->mutex);
  answers->all_there.wait(
      lock, [&answers]() ATHANOR_REQUIRES(answers->mutex) { return answers->open == 0; });
  std::vector<Object> objects;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    client::ApiResult& result = *answers->results[i];
    if (result.error && !(std::holds_alternative<Delete>(steps[i]) && result.error->code == 404)) {
      return *std::move(result.error);
    }
    objects.emplace_back(std::move(result.body));
  }
  return objects;
}

void ApiWrites::tell(const Emit& event) {
  runtime::WriteRequest write;
  {
    const MutexLock lock(mutex_);
    write = recorder_->record(event, event.about_uid, {.component = kManager, .manager = kManager},
                              clock_.now());
  }
  client::ApiRequest request = request_of(std::move(write));
  request.lane = client::Lane::Background;
  client_->send(std::move(request), [reason = event.reason](const client::ApiResult& result) {
    if (result.error) {
      log::debug("an event was not written",
                 {{"reason", reason}, {"error", result.error->message}});
    }
  });
}

Result<Object> ApiWrites::get(const Ref& ref, Duration patience) {
  client::ApiRequest request;
  request.path =
      runtime::collection_path(*ref.kind, ref.key.ns) + "/" + client::escape(ref.key.name);
  request.lane = client::Lane::Urgent;
  request.timeout = patience;
  client::ApiResult result = client_->call(std::move(request));
  if (result.error) {
    return *std::move(result.error);
  }
  return Object(std::move(result.body));
}

}  // namespace athanor::agent
