// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/request/exchange.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>

#include "base/cancellation.hpp"
#include "base/condition_variable.hpp"
#include "base/contain.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "embedded/apiserver/request/request_path.hpp"
#include "embedded/apiserver/request/respond.hpp"

namespace athanor::apiserver {
namespace {

constexpr int kPassLimit = 256;  // far more than webhooks in a row
// Timers are not exact: an answer this close to the deadline came because of it.
constexpr std::chrono::milliseconds kTimerError{5};

using Questions = std::vector<Conversation::Question>;

StatusError endless() {
  return status::internal("the request asked the outside world too often");
}

// The time that the request has left bounds every question.
void ask(const ExchangeContext& context, Instant deadline, Conversation::Question& question,
         UniqueFunction<void(OutsideAnswer)> done) {
  if (question.revision) {
    return context.revisions->wait(*question.revision,
                                   std::min(deadline, context.clock->now() + kRevisionWait),
                                   [done = std::move(done)]() mutable { done({}); });
  }
  OutsideRequest request = std::move(question.request);
  if (context.outside == nullptr) {
    return done({.failure = "this server has no network"});
  }
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - context.clock->now());
  request.timeout = std::min(request.timeout, left);
  if (left <= std::chrono::milliseconds(0)) {
    return done({.failure = "context deadline exceeded"});
  }
  context.outside->ask(std::move(request), std::move(done));
}

Instant deadline_of(const ExchangeContext& context, const Request& request, Instant now) {
  if (!request.parameter("timeout") || is_long_running(parse_request_path(request))) {
    return now + context.request_timeout;
  }
  return now + allotted_time(request, context.request_timeout).value_or(context.request_timeout);
}

bool is_over(const ExchangeContext& context, Instant deadline) {
  return context.clock->now() + kTimerError >= deadline;
}

// Shared with answers that come in on other threads.
struct Waiter {
  Mutex mutex{};
  ConditionVariable all_there{};
  std::size_t open ATHANOR_GUARDED_BY(mutex) = 0;
};

void wait_for_answers(const ExchangeContext& context, Instant deadline,
                      Conversation& conversation) {
  Questions questions = conversation.take_questions();
  const auto waiter = std::make_shared<Waiter>();
  {
    const MutexLock lock(waiter->mutex);
    waiter->open = questions.size();
  }
  for (Conversation::Question& question : questions) {
    ask(context, deadline, question,
        [&conversation, waiter, key = question.key](OutsideAnswer answer) {
          conversation.answer(key, std::move(answer));
          const MutexLock lock(waiter->mutex);
          --waiter->open;
          waiter->all_there.notify_one();
        });
  }
  MutexLock lock(waiter->mutex);
  waiter->all_there.wait(lock, [&]() ATHANOR_REQUIRES(waiter->mutex) { return waiter->open == 0; });
}

// One asynchronous request.
struct Exchange {
  Exchange(const ExchangeContext& shared, Request asked, Instant at, Executor executor,
           UniqueFunction<void(Response)> callback)
      : context(shared),
        request(std::move(asked)),
        now(at),
        deadline(deadline_of(context, request, now)),
        conversation(*shared.entropy),
        resume(std::move(executor)),
        done(std::move(callback)) {
    conversation.patient = context.revisions != nullptr;
    if (cancellation != nullptr) {
      cancellation->set_deadline(std::chrono::steady_clock::now() +
                                 (deadline - context.clock->now()));
    }
  }

  const ExchangeContext& context;
  const Request request;
  const Instant now;
  const Instant deadline;
  Conversation conversation;
  // What the caller works under; every pass does, whichever thread makes it.
  const std::shared_ptr<Cancellation> cancellation = CancellationScope::current();
  const Executor resume;
  UniqueFunction<void(Response)> done;
  std::atomic<std::size_t> open = 0;
  int passes = 0;
};

void advance(const std::shared_ptr<Exchange>& exchange) {
  const CancellationScope under(exchange->cancellation);
  std::optional<Response> response;
  try {
    const Containment scope;
    response = exchange->context.pass(exchange->request, exchange->now, exchange->conversation);
  } catch (const std::exception& failure) {
    // A bug, but one that must cost this request only (docs/spec/apiserver.md 2.10).
    const CancellationScope to_its_end(nullptr);
    log::error("a request failed inside the server",
               {{"path", exchange->request.path}, {"error", failure.what()}});
    response = error_response(status::internal(failure.what()));
  }
  if (response) {
    return exchange->done(*std::move(response));
  }
  const CancellationScope to_its_end(nullptr);  // outside the try block nothing may throw
  if (++exchange->passes > kPassLimit) {
    return exchange->done(error_response(endless()));
  }
  Questions questions = exchange->conversation.take_questions();
  exchange->open = questions.size();
  for (Conversation::Question& question : questions) {
    ask(exchange->context, exchange->deadline, question,
        [exchange, key = question.key](OutsideAnswer answer) {
          exchange->conversation.answer(key, std::move(answer));
          if (exchange->open.fetch_sub(1) == 1) {
            exchange->conversation.expired = is_over(exchange->context, exchange->deadline);
            exchange->resume([exchange] { advance(exchange); });
          }
        });
  }
}

}  // namespace

void ask_questions(const ExchangeContext& context,
                   const std::shared_ptr<Conversation>& conversation, UniqueFunction<void()> done) {
  struct Round {
    std::atomic<std::size_t> open = 0;
    UniqueFunction<void()> done{};
  };
  Questions questions = conversation->take_questions();
  const auto round = std::make_shared<Round>();
  round->open = questions.size();
  round->done = std::move(done);
  const Instant deadline = context.clock->now() + context.request_timeout;
  for (Conversation::Question& question : questions) {
    ask(context, deadline, question,
        [conversation, round, key = question.key](OutsideAnswer answer) {
          conversation->answer(key, std::move(answer));
          if (round->open.fetch_sub(1) == 1) {
            round->done();
          }
        });
  }
}

Response run_exchange(const ExchangeContext& context, const Request& request, Instant now) {
  Conversation conversation(*context.entropy);
  const Instant deadline = deadline_of(context, request, now);
  for (int pass = 0; pass < kPassLimit; ++pass) {
    std::optional<Response> response;
    if (const auto broken = contain([&] { response = context.pass(request, now, conversation); })) {
      return error_response(status::internal(*broken));
    }
    if (response) {
      return *std::move(response);
    }
    wait_for_answers(context, deadline, conversation);
    conversation.expired = is_over(context, deadline);
  }
  return error_response(endless());
}

void start_exchange(const ExchangeContext& context, Request request, Instant now, Executor resume,
                    UniqueFunction<void(Response)> done) {
  advance(std::make_shared<Exchange>(context, std::move(request), now, std::move(resume),
                                     std::move(done)));
}

}  // namespace athanor::apiserver
