// SPDX-License-Identifier: Apache-2.0
#include "embedded/targets/connection.hpp"

#include <fmt/core.h>

#include <utility>

#include "embedded/transport/response_writer.hpp"

namespace athanor::targets {
namespace {

using Outcome = transport::TlsStream::Outcome;

constexpr std::size_t kHeadLimit = std::size_t{64} * 1024;
constexpr std::size_t kBodyLimit = std::size_t{1024} * 1024;
constexpr std::chrono::seconds kIdleTime{90};   // for the next request, the handshake included
constexpr std::chrono::seconds kStallTime{60};  // without progress in sending
constexpr std::chrono::hours kHangTime{1};      // of a request that is never answered

}  // namespace

Connection::Connection(Shared& shared, std::shared_ptr<const transport::TlsContext> tls,
                       std::shared_ptr<const Face> face, int socket, Gone gone)
    : shared_(shared),
      context_(std::move(tls)),
      face_(std::move(face)),
      gone_(std::move(gone)),
      descriptor_(shared.loop, socket),
      deadline_(shared.loop),
      delay_(shared.loop),
      tls_(*context_, socket),
      reader_(kHeadLimit, kBodyLimit) {}

Connection::~Connection() = default;

void Connection::start() {
  expect_within(kIdleTime);
  shake_hands();
}

void Connection::close() {
  if (std::exchange(closed_, true)) {
    return;
  }
  deadline_.cancel();
  delay_.cancel();
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
  request.credentials = tls_.credentials();
  keep_alive_ = reader_.keep_alive();
  shared_.count(request);
  const Faults& faults = face_->target.faults;
  if (faults.hang) {
    expect_within(kHangTime);
    return await_end();
  }
  if (faults.slow.count() == 0) {
    return answer(request);
  }
  expect_within(faults.slow + kIdleTime);
  delay_.set(faults.slow, [self = shared_from_this(), request = std::move(request)] {
    if (!self->closed_) {
      self->answer(request);
    }
  });
}

void Connection::answer(const apiserver::Request& request) {
  respond(targets::respond(face_, request, shared_.clock->now()));
}

void Connection::respond(apiserver::Response response) {
  transport::Framing framing{.chunked = response.stream != nullptr,
                             .keep_alive = keep_alive_,
                             .http_1_0 = reader_.http_1_0()};
  if (!framing.chunked) {
    framing.length = response.body.size();
  }
  output_ = transport::response_head(response, framing, transport::http_date(shared_.clock->now()));
  written_ = 0;
  output_ += response.body;
  stream_ = std::move(response.stream);
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
  if (!stream_) {
    return finish();
  }
  if (!pull()) {
    expect_within(kHangTime);
    return await_end();
  }
  expect_within(kStallTime);
  // One piece at a time, so that a long list does not keep the other targets waiting.
  shared_.loop.post([self = shared_from_this()] {
    if (!self->closed_) {
      self->flush();
    }
  });
}

bool Connection::pull() {
  std::string piece;
  const bool ended = stream_->pull(piece) == apiserver::Stream::State::Ended;
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

void Connection::finish() {
  output_.clear();
  output_.shrink_to_fit();
  if (!keep_alive_) {
    tls_.shutdown();
    return end();
  }
  expect_within(kIdleTime);
  read();
}

void Connection::await_end() {
  while (true) {
    std::size_t size = 0;
    switch (tls_.read(shared_.block, size)) {
      case Outcome::Done:
        break;
      case Outcome::WantRead:
        return when_readable(&Connection::await_end);
      case Outcome::WantWrite:
        return when_writable(&Connection::await_end);
      case Outcome::Closed:
        return end();
    }
  }
}

}  // namespace athanor::targets
