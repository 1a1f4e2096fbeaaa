// SPDX-License-Identifier: Apache-2.0
#include "net/served_connection.hpp"

#include <fmt/core.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/contain.hpp"
#include "net/response_writer.hpp"

namespace athanor::net {
namespace {

using Outcome = TlsStream::Outcome;

constexpr std::size_t kSmall = std::size_t{64} * 1024;      // bytes that any connection may hold
constexpr std::size_t kReadAhead = std::size_t{64} * 1024;  // bytes of the next request
constexpr std::chrono::seconds kLinger{1};                  // until a client takes the end

// What a call on a plain socket came to.
Outcome plain_outcome(ssize_t result, Outcome later, std::size_t& size) {
  if (result > 0) {
    size = static_cast<std::size_t>(result);
    return Outcome::Done;
  }
  const bool busy = result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return busy ? later : Outcome::Closed;
}

}  // namespace

ServedConnection::ServedConnection(ServedWorld& world, std::shared_ptr<const TlsContext> tls,
                                   int socket, Handle handle, Gone gone)
    : world_(world),
      context_(std::move(tls)),
      handle_(std::move(handle)),
      gone_(std::move(gone)),
      descriptor_(world.loop, socket),
      deadline_(world.loop),
      delay_(world.loop),
      socket_(socket),
      reader_(world.limits.head, world.limits.body) {
  if (context_ != nullptr) {
    tls_.emplace(*context_, socket);
  }
}

ServedConnection::~ServedConnection() = default;

void ServedConnection::start() {
  expect_within(world_.limits.handshake);
  run(&ServedConnection::shake_hands);
}

void ServedConnection::run(Step step) {
  if (!closed_ && contain([&] { (this->*step)(); })) {
    end();
  }
}

std::optional<std::chrono::steady_clock::time_point> ServedConnection::resting_since() const {
  return busy_ || closed_ ? std::nullopt : std::optional(since_);
}

bool ServedConnection::account() {
  const std::size_t bytes = closed_ ? 0 : input_.size() + reader_.body_size();
  const bool fits = bytes <= held_ || bytes <= kSmall ||
                    world_.requests + (bytes - held_) <= world_.limits.requests;
  world_.requests += bytes - std::exchange(held_, bytes);
  return fits;
}

void ServedConnection::close() {
  if (std::exchange(closed_, true)) {
    return;
  }
  account();
  deadline_.cancel();
  delay_.cancel();
  descriptor_.close();
  stream_.reset();  // its source may not wake a loop that ends
}

void ServedConnection::end() {
  if (closed_) {
    return;
  }
  const auto self = shared_from_this();
  close();
  gone_(self);
}

void ServedConnection::when_readable(Step step) {
  on_readable_ = step;
  if (std::exchange(armed_, true)) {
    return;
  }
  descriptor_.when_readable([self = shared_from_this()] {
    self->armed_ = false;
    if (const Step next = std::exchange(self->on_readable_, nullptr)) {
      self->run(next);
    }
  });
}

void ServedConnection::when_writable(Step step) {
  descriptor_.when_writable([self = shared_from_this(), step] { self->run(step); });
}

void ServedConnection::later(Step step) {
  world_.turns.add([self = shared_from_this(), step] { self->run(step); });
}

void ServedConnection::expect_within(std::chrono::milliseconds time) {
  deadline_.set(time, [self = shared_from_this()] { self->end(); });
}

Outcome ServedConnection::receive(std::span<char> buffer, std::size_t& size) {
  return tls_ ? tls_->read(buffer, size)
              : plain_outcome(::recv(socket_, buffer.data(), buffer.size(), 0), Outcome::WantRead,
                              size);
}

Outcome ServedConnection::transmit(std::string_view bytes, std::size_t& size) {
  return tls_ ? tls_->write(bytes, size)
              : plain_outcome(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
                              Outcome::WantWrite, size);
}

void ServedConnection::shake_hands() {
  switch (tls_ ? tls_->handshake() : Outcome::Done) {
    case Outcome::Done:
      expect_within(world_.limits.idle);
      return read();
    case Outcome::WantRead:
      return when_readable(&ServedConnection::shake_hands);
    case Outcome::WantWrite:
      return when_writable(&ServedConnection::shake_hands);
    case Outcome::Closed:
      return end();
  }
}

void ServedConnection::read() {
  using State = RequestReader::State;
  Turn turn;
  while (true) {
    const State state = reader_.feed(input_);
    const bool fits = account();
    if (state == State::Complete) {
      return handle(reader_.take());
    }
    if (!fits) {
      keep_alive_ = false;
      return respond(status_response(
          {.code = 429, .reason = "TooManyRequests", .message = "too many unfinished requests"}));
    }
    if (state == State::Failed) {
      keep_alive_ = false;
      return respond(rejection_response(reader_.rejection()));
    }
    if (!turn.continues()) {
      return later(&ServedConnection::read);
    }
    std::size_t size = 0;
    switch (receive(world_.block, size)) {
      case Outcome::Done:
        input_.append(world_.block.data(), size);
        break;
      case Outcome::WantRead:
        return when_readable(&ServedConnection::read);
      case Outcome::WantWrite:
        return when_writable(&ServedConnection::read);
      case Outcome::Closed:
        return end();
    }
  }
}

void ServedConnection::handle(net::Request request) {
  if (tls_) {
    request.credentials = tls_->credentials();
  }
  keep_alive_ = reader_.keep_alive();
  waiting_ = true;
  busy_ = true;
  expect_within(world_.limits.answer);
  handle_(std::move(request),
          [weak = weak_from_this()](net::Response response, std::chrono::milliseconds after) {
            const auto self = weak.lock();
            if (self && !self->closed_) {
              self->answer(std::move(response), after);
            }
          });
  if (waiting_) {
    watch();
  }
}

void ServedConnection::answer(net::Response response, std::chrono::milliseconds after) {
  if (after.count() == 0) {
    return respond(std::move(response));
  }
  expect_within(after + world_.limits.answer);
  delay_.set(after, [self = shared_from_this(), response = std::move(response)]() mutable {
    if (!self->closed_ && contain([&] { self->respond(std::move(response)); })) {
      self->end();
    }
  });
}

void ServedConnection::respond(net::Response response) {
  waiting_ = false;
  on_readable_ = nullptr;
  Framing framing{.chunked = response.stream != nullptr,
                  .keep_alive = keep_alive_,
                  .http_1_0 = reader_.http_1_0()};
  if (!framing.chunked) {
    framing.length = response.body.size();
  }
  output_ = response_head(response, framing, http_date(world_.clock->now()));
  written_ = 0;
  if (!reader_.is_head()) {
    output_ += response.body;
    stream_ = std::move(response.stream);
  }
  if (stream_) {
    stream_->on_ready([weak = weak_from_this(), &loop = world_.loop] {
      loop.post([weak] {
        if (const auto self = weak.lock()) {
          self->run(&ServedConnection::resume);
        }
      });
    });
  }
  expect_within(world_.limits.stall);
  flush();
}

void ServedConnection::flush() {
  Turn turn;
  while (written_ < output_.size()) {
    if (!turn.continues()) {
      return later(&ServedConnection::flush);
    }
    std::size_t size = 0;
    switch (transmit(std::string_view(output_).substr(written_), size)) {
      case Outcome::Done:
        written_ += size;
        turn.wrote(size);
        break;
      case Outcome::WantRead:
        return when_readable(&ServedConnection::flush);
      case Outcome::WantWrite:
        return when_writable(&ServedConnection::flush);
      case Outcome::Closed:
        return end();
    }
  }
  if (!stream_) {
    return finish();
  }
  if (!pull()) {
    drained_ = true;
    expect_within(world_.limits.answer);
    return watch();
  }
  expect_within(world_.limits.stall);
  later(&ServedConnection::flush);  // one piece at a time: a long list delays no other
}

void ServedConnection::resume() {
  if (std::exchange(drained_, false)) {
    expect_within(world_.limits.stall);
    flush();
  }
}

bool ServedConnection::pull() {
  std::string piece;
  const bool ended = stream_->pull(piece) == net::Stream::State::Ended;
  written_ = 0;
  output_.clear();
  if (!piece.empty()) {
    output_ = fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
  }
  if (ended) {
    output_ += "0\r\n\r\n";
    stream_.reset();
  }
  return !output_.empty();
}

void ServedConnection::finish() {
  output_.clear();
  output_.shrink_to_fit();
  if (!keep_alive_) {
    if (tls_) {
      tls_->shutdown();
    }
    ::shutdown(socket_, SHUT_WR);
    busy_ = false;
    expect_within(kLinger);
    return linger();
  }
  busy_ = false;
  since_ = std::chrono::steady_clock::now();
  expect_within(world_.limits.idle);
  // Not at once: a client that sends many requests together would deepen the stack.
  later(&ServedConnection::read);
}

void ServedConnection::linger() {
  Turn turn;
  while (turn.continues()) {
    const ssize_t got = ::recv(socket_, world_.block.data(), world_.block.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return when_readable(&ServedConnection::linger);
    }
    if (got <= 0 && errno != EINTR) {
      return end();
    }
  }
  later(&ServedConnection::linger);
}

void ServedConnection::watch() {
  if (!waiting_ && stream_ == nullptr) {
    return;  // the answer was quicker than this turn
  }
  // Beyond the start of the next request nothing is taken; then only time ends the connection.
  Turn turn;
  while (!closed_ && input_.size() < kReadAhead) {
    if (!turn.continues()) {
      return later(&ServedConnection::watch);
    }
    std::size_t size = 0;
    switch (receive(world_.block, size)) {
      case Outcome::Done:
        input_.append(world_.block.data(), size);
        break;
      case Outcome::WantRead:
        return when_readable(&ServedConnection::watch);
      case Outcome::WantWrite:
        return;  // the answer will see to it
      case Outcome::Closed:
        return end();
    }
  }
}

}  // namespace athanor::net
