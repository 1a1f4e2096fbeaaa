// SPDX-License-Identifier: Apache-2.0
// What becomes of a connection's requests: screened, handled by a worker, answered.
#include <exception>
#include <utility>

#include "base/cancellation.hpp"
#include "base/contain.hpp"
#include "base/log.hpp"
#include "embedded/apiserver/read/encode.hpp"
#include "embedded/transport/connection.hpp"
#include "net/response_writer.hpp"

namespace athanor::transport {
namespace {

constexpr std::size_t kSmallAnswer = std::size_t{64} * 1024;
constexpr std::size_t kJoinedBody =
    std::size_t{14} * 1024;  // goes into one TLS record with its head

// A bug, but one that must cost this request only (docs/spec/apiserver.md 2.10).
std::shared_ptr<net::Response> failed_inside(const std::string& path, const char* what) {
  const CancellationScope to_its_end(nullptr);
  log::error("a request failed inside the server", {{"path", path}, {"error", what}});
  return std::make_shared<net::Response>(
      net::status_response(Error::internal("Internal error occurred")));
}

net::Response too_much(const char* message) {
  net::Response response =
      net::status_response({.code = 429, .reason = "TooManyRequests", .message = message});
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace

void Connection::dispatch() {
  state_ = State::Handling;
  screened_ = false;
  clear_deadline();
  submit(reader_.take(), 0);
  when_readable();
}

// Distinguishes requests by their credentials, before these are checked.
net::Flow Connection::flow_of(const net::Request& request) const {
  net::Flow flow;
  flow.connection = number_;
  flow.mutating = request.method != "GET" && request.method != "HEAD";
  if (const std::string_view token = request.header("authorization"); !token.empty()) {
    flow.user = "token " + std::string(token);
  } else if (credentials_.certificate) {
    flow.user = "certificate " + credentials_.certificate->sha256_hex;
  }
  return flow;
}

std::string Connection::holder_of(const net::Flow& flow) const {
  return flow.user.empty() ? "address " + peer_ : flow.user;
}

void Connection::screen(net::Request head, std::int32_t stream, std::size_t body) {
  head.credentials = credentials_;
  head.peer = peer_;
  net::Flow flow = flow_of(head);
  std::string holder = holder_of(flow);
  core_->workers.submit(std::move(flow), [self = shared_from_this(), head = std::move(head), stream,
                                          body,
                                          holder = std::move(holder)](bool /*overdue*/) mutable {
    const auto& dependencies = self->core_->dependencies;
    bool admitted = false;
    static_cast<void>(
        contain([&] { admitted = dependencies.server->admits(head, dependencies.clock->now()); }));
    net::EventLoop& loop = self->core_->loop;
    loop.post([self = std::move(self), stream, body, admitted, holder = std::move(holder)] {
      self->contained([&] { self->screened(stream, self->verdict_of(admitted, holder, body)); });
    });
  });
}

net::Http2Session::Verdict Connection::verdict_of(bool admitted, const std::string& user,
                                                  std::size_t body) {
  if (!admitted) {
    return net::Http2Session::Verdict::Refuse;
  }
  if (!core_->requests.admits(user, body)) {
    return net::Http2Session::Verdict::Busy;
  }
  if (state_ == State::Screening) {
    requests_.set(user, body);
  }
  return net::Http2Session::Verdict::Go;
}

void Connection::screened(std::int32_t stream, net::Http2Session::Verdict verdict) {
  if (state_ == State::Multiplexed) {
    http2_->screened(stream, verdict);
    return pump();
  }
  if (state_ != State::Screening) {
    return;  // closed meanwhile
  }
  if (verdict == net::Http2Session::Verdict::Go) {
    screened_ = true;
    state_ = State::Reading;
    begin_body();
    return read_requests();
  }
  close_after_ = true;
  body_unread_ = true;
  net::Request request = reader_.take();
  if (verdict == net::Http2Session::Verdict::Refuse) {
    state_ = State::Handling;
    clear_deadline();
    request.body = std::string();
    request.without_body = true;
    return submit(std::move(request), 0);
  }
  net::Response busy = too_much("too many unfinished requests, please try again later");
  respond(busy);
}

void Connection::bound_answer(net::Response& response) const {
  // Small ones always: else one client of a user would silence the others.
  if (response.body.size() > kSmallAnswer &&
      !core_->answers.admits(holder_, response.body.size())) {
    response = too_much("too many answers of yours are not read, please try again later");
  }
}

void Connection::submit(net::Request request, std::int32_t stream) {
  request.credentials = credentials_;
  request.peer = peer_;
  served_ = true;
  net::Flow flow = flow_of(request);
  if (std::string holder = holder_of(flow); holder != holder_) {
    holder_ = std::move(holder);
    account();
  }
  const auto cancellation = std::make_shared<Cancellation>(core_->ending);
  running_[stream] = cancellation;
  core_->workers.submit(std::move(flow), [self = shared_from_this(), stream, cancellation,
                                          request = std::move(request)](bool overdue) mutable {
    request.overdue = overdue;
    self->handle(std::move(request), stream, cancellation);
  });
}

void Connection::abandon(std::int32_t stream) {
  if (const auto found = running_.find(stream); found != running_.end()) {
    found->second->cancel(Cancellation::Reason::Gone);
    running_.erase(found);
  }
}

void Connection::handle(net::Request request, std::int32_t stream,
                        const std::shared_ptr<Cancellation>& cancellation) {
  if (cancellation->reason() == Cancellation::Reason::Gone) {
    return;  // before its turn came
  }
  const CancellationScope under(cancellation);
  const auto& dependencies = core_->dependencies;
  // What encoding needs of the request, which the API server takes.
  net::Request asked;
  asked.method = request.method;
  asked.path = request.path;
  asked.query = request.query;
  asked.headers = request.headers;
  const auto resume = [core = core_, flow = flow_of(request)](UniqueFunction<void()> task) {
    core->workers.submit(flow, [task = std::move(task)](bool /*overdue*/) mutable { task(); });
  };
  try {
    const Containment scope;
    dependencies.server->handle_async(
        std::move(request), dependencies.clock->now(), resume,
        [self = shared_from_this(), asked, stream](net::Response answered) {
          self->handled(asked, std::move(answered), stream);
        });
  } catch (const std::exception& failure) {
    answer(failed_inside(asked.path, failure.what()), stream, Means::Writing);
  }
}

// On a worker, too: the answer is there.
void Connection::handled(const net::Request& asked, net::Response answered, std::int32_t stream) {
  const auto& dependencies = core_->dependencies;
  auto response = std::make_shared<net::Response>(std::move(answered));
  try {
    const Containment scope;
    if (response->stream == nullptr && response->tunnel == nullptr) {
      apiserver::encode(asked, *response);
      // A text that grew has capacity for as much again, and may wait for long.
      if (response->body.capacity() - response->body.size() > kSmallAnswer) {
        response->body.shrink_to_fit();
      }
    }
  } catch (const Cancelled&) {
    const CancellationScope to_its_end(nullptr);
    response = std::make_shared<net::Response>(net::status_response(
        {.code = 504,
         .reason = "Timeout",
         .message = "Timeout: request did not complete within the allotted timeout"}));
  } catch (const std::exception& failure) {
    response = failed_inside(asked.path, failure.what());
  }
  // The writer gets the result.
  const bool reads = asked.method == "GET" || asked.method == "HEAD";
  const Means means = reads ? Means::Reading : Means::Writing;
  if (response->durable_after == 0 || dependencies.store == nullptr) {
    return answer(std::move(response), stream, means);
  }
  dependencies.store->when_durable(
      response->durable_after,
      [self = shared_from_this(), response, stream, means](const Result<void>& outcome) {
        if (!outcome.ok()) {
          *response = net::status_response(
              Error::internal("the write could not be stored: " + outcome.error().message));
        }
        self->answer(response, stream, means);
      });
}

void Connection::answer(std::shared_ptr<net::Response> response, std::int32_t stream, Means means) {
  core_->loop.post([self = shared_from_this(), response = std::move(response), stream, means] {
    self->contained([&] {
      self->running_.erase(stream);
      if (means == Means::Reading) {
        self->bound_answer(*response);
      }
      if (self->state_ == State::Handling) {
        self->respond(*response);
      } else if (self->state_ == State::Multiplexed) {
        self->http2_->respond(stream, *response);
        self->account();
        self->pump();
      }
    });
  });
}

void Connection::respond(net::Response& response) {
  state_ = State::Responding;
  clear_deadline();
  close_after_ = close_after_ || !reader_.keep_alive() || core_->draining;
  net::Framing framing{.keep_alive = !close_after_, .http_1_0 = reader_.http_1_0()};
  if (response.tunnel != nullptr) {
    return respond_with_tunnel(response, framing);
  }
  if (response.stream != nullptr) {
    return respond_with_stream(response, framing);
  }
  respond_with_body(response, framing);
}

void Connection::respond_with_body(net::Response& response, net::Framing framing) {
  framing.length = response.body.size();
  std::string head = net::response_head(response, framing, date());
  if (reader_.is_head() || !net::has_body(response.status)) {
    response.body.clear();
  }
  if (response.body.size() <= kJoinedBody) {
    head += response.body;
    send(std::move(head));
  } else {
    send(std::move(head));
    send(std::move(response.body));
  }
  flush();
}

void Connection::respond_with_stream(net::Response& response, net::Framing framing) {
  stream_chunked_ = !reader_.http_1_0();
  framing.chunked = stream_chunked_;
  close_after_ = close_after_ || !stream_chunked_;  // its end is the connection's
  framing.keep_alive = !close_after_;
  send(net::response_head(response, framing, date()));
  if (reader_.is_head()) {
    return flush();
  }
  begin_stream(std::move(response.stream));
  when_readable();
  pull_stream();
}

void Connection::respond_with_tunnel(net::Response& response, net::Framing framing) {
  framing.keep_alive = true;  // the head speaks of its connection itself
  close_after_ = true;        // nothing comes behind the tunnel
  stream_chunked_ = false;
  send(net::response_head(response, framing, date()));
  tunnel_ = response.tunnel.get();
  begin_stream(std::move(response.tunnel));
  flush();
  if (state_ == State::Streaming) {
    read_tunnel();
  }
}

}  // namespace athanor::transport
