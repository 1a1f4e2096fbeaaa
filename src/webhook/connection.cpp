// SPDX-License-Identifier: Apache-2.0
#include "webhook/connection.hpp"

#include <utility>

#include "embedded/transport/response_writer.hpp"

namespace athanor::webhook {
namespace {

using Outcome = transport::TlsStream::Outcome;

constexpr std::size_t kHeadLimit = std::size_t{64} * 1024;
constexpr std::size_t kBodyLimit = std::size_t{10} * 1024 * 1024;  // an object, old and new
constexpr std::chrono::seconds kIdleTime{120};  // for the next request; API servers keep theirs
constexpr std::chrono::seconds kHandshakeTime{10};
constexpr std::chrono::seconds kStallTime{30};     // without progress in sending
constexpr std::chrono::seconds kDecisionTime{31};  // API servers wait 30 s at most

}  // namespace

Connection::Connection(Shared& shared, std::shared_ptr<const transport::TlsContext> tls, int socket,
                       Gone gone)
    : shared_(shared),
      context_(std::move(tls)),
      gone_(std::move(gone)),
      descriptor_(shared.loop, socket),
      deadline_(shared.loop),
      tls_(*context_, socket),
      reader_(kHeadLimit, kBodyLimit) {}

Connection::~Connection() = default;

void Connection::start() {
  expect_within(kHandshakeTime);
  shake_hands();
}

void Connection::close() {
  if (std::exchange(closed_, true)) {
    return;
  }
  deadline_.cancel();
  descriptor_.close();
}

void Connection::end() {
  if (closed_) {
    return;
  }
  const auto self = shared_from_this();
  close();
  gone_(self);
}

void Connection::when_readable(Step step) {
  descriptor_.when_readable([self = shared_from_this(), step] {
    if (!self->closed_) {
      ((*self).*step)();
    }
  });
}

void Connection::when_writable(Step step) {
  descriptor_.when_writable([self = shared_from_this(), step] {
    if (!self->closed_) {
      ((*self).*step)();
    }
  });
}

void Connection::expect_within(std::chrono::milliseconds time) {
  deadline_.set(time, [self = shared_from_this()] { self->end(); });
}

void Connection::shake_hands() {
  switch (tls_.handshake()) {
    case Outcome::Done:
      expect_within(kIdleTime);
      return read();
    case Outcome::WantRead:
      return when_readable(&Connection::shake_hands);
    case Outcome::WantWrite:
      return when_writable(&Connection::shake_hands);
    case Outcome::Closed:
      return end();
  }
}

void Connection::read() {
  using State = transport::RequestReader::State;
  while (true) {
    const State state = reader_.feed(input_);
    if (state == State::Complete) {
      return handle(reader_.take());
    }
    if (state == State::Failed) {
      keep_alive_ = false;
      return respond(transport::rejection_response(reader_.rejection()));
    }
    std::size_t size = 0;
    switch (tls_.read(shared_.block, size)) {
      case Outcome::Done:
        input_.append(shared_.block.data(), size);
        break;
      case Outcome::WantRead:
        return when_readable(&Connection::read);
      case Outcome::WantWrite:
        return when_writable(&Connection::read);
      case Outcome::Closed:
        return end();
    }
  }
}

void Connection::handle(apiserver::Request request) {
  keep_alive_ = reader_.keep_alive();
  expect_within(kDecisionTime);
  shared_.handle(std::move(request),
                 [weak = weak_from_this()](const apiserver::Response& response) {
                   const auto self = weak.lock();
                   if (self && !self->closed_) {
                     self->respond(response);
                   }
                 });
}

void Connection::respond(const apiserver::Response& response) {
  const transport::Framing framing{
      .length = response.body.size(), .keep_alive = keep_alive_, .http_1_0 = reader_.http_1_0()};
  output_ = transport::response_head(response, framing, transport::http_date(shared_.clock->now()));
  written_ = 0;
  output_ += response.body;
  expect_within(kStallTime);
  flush();
}

void Connection::flush() {
  while (written_ < output_.size()) {
    std::size_t size = 0;
    switch (tls_.write(std::string_view(output_).substr(written_), size)) {
      case Outcome::Done:
        written_ += size;
        break;
      case Outcome::WantRead:
        return when_readable(&Connection::flush);
      case Outcome::WantWrite:
        return when_writable(&Connection::flush);
      case Outcome::Closed:
        return end();
    }
  }
  finish();
}

void Connection::finish() {
  output_.clear();
  output_.shrink_to_fit();
  if (!keep_alive_) {
    tls_.shutdown();
    return end();
  }
  expect_within(kIdleTime);
  // Not at once: a client that sends many questions together would deepen the stack.
  shared_.loop.post([self = shared_from_this()] {
    if (!self->closed_) {
      self->read();
    }
  });
}

}  // namespace athanor::webhook
