// SPDX-License-Identifier: Apache-2.0
#include "net/serving/page_server.hpp"

#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/condition_variable.hpp"
#include "base/contain.hpp"
#include "base/mutex.hpp"
#include "kube/text/http_status.hpp"
#include "net/serving/small_server.hpp"

namespace athanor::net {
namespace {

constexpr std::size_t kPageHead = 8192;  // bytes

Response page_response(Page page) {
  Response response;
  response.status = page.status;
  response.content_type = std::move(page.content_type);
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.body = std::move(page.body);
  return response;
}

}  // namespace

Page refusal_page(int status) {
  return {.status = status, .body = std::string(reason_phrase(status)) + "\n"};
}

struct PageServer::State {
  struct Asked {
    Request request{};
    SmallServerOptions::Reply reply{};
  };

  explicit State(PageServerOptions server_options) : options(std::move(server_options)) {}

  // On the server's thread.
  void take(Request request, SmallServerOptions::Reply reply);
  // On the threads of the pages.
  void work();

  PageServerOptions options;
  std::unique_ptr<Clock> wall{};  // where the options have none
  Mutex mutex{};
  ConditionVariable more{};
  std::deque<Asked> waiting ATHANOR_GUARDED_BY(mutex){};
  bool ending ATHANOR_GUARDED_BY(mutex) = false;
  std::vector<std::thread> threads{};
  std::unique_ptr<SmallServer> server{};
};

void PageServer::State::take(Request request, SmallServerOptions::Reply reply) {
  const auto refuse = [&](int status) {
    reply([status] { return page_response(refusal_page(status)); });
  };
  if (request.method != "GET" && request.method != "HEAD") {
    refuse(405);
    return;
  }
  bool full = false;
  {
    const MutexLock lock(mutex);
    full = waiting.size() >= options.max_waiting;
    if (!full) {
      waiting.push_back({.request = std::move(request), .reply = reply});
    }
  }
  if (full) {
    refuse(503);
    return;
  }
  more.notify_one();
}

void PageServer::State::work() {
  MutexLock lock(mutex);
  while (true) {
    more.wait(lock, [this]() ATHANOR_REQUIRES(mutex) { return ending || !waiting.empty(); });
    if (ending) {
      return;
    }
    const Asked asked = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    Page page;
    if (contain([&] { page = options.answer(asked.request); })) {
      page = refusal_page(500);
    }
    asked.reply([page = std::move(page)] { return page_response(page); });
    lock.lock();
  }
}

Result<std::unique_ptr<PageServer>> PageServer::start(PageServerOptions options) {
  ATHANOR_CHECK(options.answer != nullptr, "a server of pages needs their maker");
  auto state = std::make_unique<State>(std::move(options));
  const PageServerOptions& wanted = state->options;
  if (wanted.clock == nullptr) {
    state->wall = wall_clock();
  }
  ATHANOR_TRY(state->server,
              SmallServer::start(
                  {.address = wanted.address,
                   .max_connections = wanted.max_connections,
                   .limits = {.head = kPageHead,
                              .body = std::size_t{1024},
                              .handshake = wanted.patience,
                              .idle = wanted.patience,
                              .stall = wanted.patience,
                              .answer = wanted.answer_limit},
                   .tls = wanted.tls,
                   .handle =
                       [raw = state.get()](Request request, SmallServerOptions::Reply reply) {
                         raw->take(std::move(request), std::move(reply));
                       },
                   .clock = state->wall ? state->wall.get() : wanted.clock}));
  for (int i = 0; i < wanted.threads; ++i) {
    state->threads.emplace_back([raw = state.get()] { raw->work(); });
  }
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<PageServer>(new PageServer(std::move(state)));
}

PageServer::PageServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

PageServer::~PageServer() {
  {
    const MutexLock lock(state_->mutex);
    state_->ending = true;
  }
  state_->more.notify_all();
  for (std::thread& thread : state_->threads) {
    thread.join();
  }
  state_->server.reset();
}

std::string PageServer::address() const {
  return state_->server->address();
}

}  // namespace athanor::net
