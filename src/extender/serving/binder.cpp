// SPDX-License-Identifier: Apache-2.0
#include "extender/serving/binder.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "api/builtin.hpp"
#include "base/log.hpp"
#include "cluster/write_call.hpp"
#include "runtime/engine/model/suppress.hpp"
#include "runtime/engine/model/write_request.hpp"

namespace athanor::extender {
namespace {

constexpr Duration kPatience = std::chrono::seconds(10);  // of one request

bool is_binding(const Step& step) {
  const auto* replace = std::get_if<Replace>(&step);
  return replace != nullptr && replace->subresource == "binding";
}

runtime::Outcome outcome_of(const Step& step, const runtime::Known& known) {
  if (const auto* create = std::get_if<Create>(&step)) {
    // What is there belongs to another attempt: the server says so.
    return runtime::request_for(*create);
  }
  if (const auto* status = std::get_if<Status>(&step)) {
    return runtime::resolve(*status, known);
  }
  if (const auto* patch = std::get_if<Patch>(&step)) {
    return runtime::resolve(*patch, known);
  }
  if (const auto* replace = std::get_if<Replace>(&step)) {
    return runtime::resolve(*replace, known);
  }
  if (const auto* gone = std::get_if<Delete>(&step)) {
    return runtime::request_for(*gone);
  }
  return runtime::Nothing{};
}

client::ApiRequest request_of(runtime::WriteRequest write) {
  return cluster::to_request(
      runtime::SendWrite{.op = "athanor-extender", .request = std::move(write), .urgent = true});
}

}  // namespace

struct Binder::Attempt {
  Binding binding{};
  Done done{};
  std::size_t step = 0;
  std::vector<std::pair<Ref, std::string>> created{};  // with their uids

  void finish(std::optional<Error> error) {
    BindingResult result{.error = std::move(error)};
    for (const auto& [ref, uid] : created) {
      result.left.push_back(ref);
    }
    done(std::move(result));
  }
};

void Binder::start(Binding binding, Done done) {
  auto attempt = std::make_shared<Attempt>();
  attempt->binding = std::move(binding);
  attempt->done = std::move(done);
  client_->post([self = shared_from_this(), attempt] { self->next(attempt); });
}

void Binder::next(const AttemptPtr& attempt) {
  const std::vector<Step>& steps = attempt->binding.steps;
  while (attempt->step < steps.size()) {
    const Step& step = steps[attempt->step];
    const Ref* target = target_of(step);
    runtime::Known known;
    if (target != nullptr) {
      const auto there = attempt->binding.known.find(*target);
      known.newest = there == attempt->binding.known.end() ? nullptr : &there->second;
      known.cached = known.newest;
    }
    runtime::Outcome outcome = outcome_of(step, known);
    if (const auto* error = std::get_if<Error>(&outcome)) {
      return take_back(attempt, *error);
    }
    if (auto* write = std::get_if<runtime::WriteRequest>(&outcome)) {
      return send(attempt, request_of(std::move(*write)),
                  [self = shared_from_this(), attempt, &step](client::ApiResult result) {
                    self->answered(attempt, step, std::move(result));
                  });
    }
    ++attempt->step;
  }
  attempt->finish(std::nullopt);
}

void Binder::send(const AttemptPtr& attempt, client::ApiRequest request,
                  std::function<void(client::ApiResult)> then) {
  // An answer that is late enough for another leader must not come at all.
  const Duration time =
      leadership_ == nullptr ? kPatience : std::min(kPatience, leadership_->write_time());
  if (time <= Duration::zero()) {
    return attempt->finish(Error::unavailable("this replica does not lead any more"));
  }
  request.timeout = time;
  request.head_timeout = time;
  request.connect_timeout = time;
  client_->send(std::move(request),
                [then = std::move(then)](client::ApiResult result) { then(std::move(result)); });
}

void Binder::answered(const AttemptPtr& attempt, const Step& step, client::ApiResult result) {
  const Ref target = *target_of(step);
  if (result.error) {
    if (std::holds_alternative<Delete>(step) && result.error->code == 404) {
      ++attempt->step;
      return next(attempt);
    }
    if (is_binding(step) && (result.unknown || result.error->code == 409)) {
      return look(attempt, *result.error);
    }
    if (result.unknown) {
      return attempt->finish(*std::move(result.error));
    }
    return take_back(attempt, *std::move(result.error));
  }
  if (std::holds_alternative<Create>(step)) {
    Object made(std::move(result.body));
    attempt->created.emplace_back(target, std::string(made.uid()));
    attempt->binding.known.insert_or_assign(target, std::move(made));
  } else if (!is_binding(step) && !std::holds_alternative<Delete>(step)) {
    attempt->binding.known.insert_or_assign(target, Object(std::move(result.body)));
  }
  ++attempt->step;
  next(attempt);
}

void Binder::look(const AttemptPtr& attempt, const Error& error) {
  client::ApiRequest request;
  request.path = runtime::collection_path(api::kPod, attempt->binding.pod.ns()) + "/" +
                 std::string(attempt->binding.pod.name());
  request.lane = client::Lane::Urgent;
  send(attempt, std::move(request),
       [self = shared_from_this(), attempt, error](const client::ApiResult& result) {
         const Object pod(result.body);
         const bool same = !result.error && pod.uid() == attempt->binding.pod.uid();
         if (same && pod.spec()["nodeName"].as_string() == attempt->binding.node) {
           return attempt->finish(std::nullopt);
         }
         // A write that may still arrive keeps its claims: the next attempt finds them.
         const bool settled = (result.error && result.error->code == 404) ||
                              (!result.error && !same) ||
                              (same && !pod.spec()["nodeName"].as_string().empty());
         if (settled) {
           return self->take_back(attempt, error);
         }
         attempt->finish(error);
       });
}

void Binder::take_back(const AttemptPtr& attempt, Error error) {
  if (attempt->created.empty()) {
    return attempt->finish(std::move(error));
  }
  // As it was written: an agent may have used a claim for another pod since.
  const auto [ref, uid] = attempt->created.back();
  const Object& written = attempt->binding.known.at(ref);
  client::ApiRequest request = request_of(runtime::request_for(
      Delete{.target = ref,
             .guard = {.uid = uid, .resource_version = std::string(written.resource_version())}}));
  send(attempt, std::move(request),
       [self = shared_from_this(), attempt, error = std::move(error)](client::ApiResult result) {
         if (result.error && result.error->code != 404) {
           log::warn(
               "a reservation could not be taken back",
               {{"pod", attempt->binding.pod.key().text()}, {"error", result.error->message}});
           return attempt->finish(error);
         }
         attempt->created.pop_back();
         self->take_back(attempt, error);
       });
}

}  // namespace athanor::extender
