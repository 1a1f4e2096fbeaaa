// SPDX-License-Identifier: Apache-2.0
// The life of a connection: handshake, then reading and writing in turn (what becomes of its
// requests is in connection_requests.cpp).
#include "embedded/transport/connection.hpp"

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <charconv>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "net/listen.hpp"
#include "net/paced_stream.hpp"
#include "net/response_writer.hpp"

namespace athanor::transport {
namespace {

constexpr auto kLingerTime = std::chrono::seconds(2);
constexpr std::size_t kReadAhead =
    std::size_t{64} * 1024;  // of a client that talks during a stream
constexpr std::size_t kPacedLimit = std::size_t{256} * 1024;   // unsent bytes of tunnels and logs
constexpr std::size_t kFramesAhead = std::size_t{128} * 1024;  // unsent bytes of HTTP/2
constexpr std::size_t kSmall = std::size_t{64} * 1024;         // bytes that any connection may hold
constexpr std::size_t kProgress = std::size_t{64} * 1024;      // bytes that count as progress
constexpr std::size_t kChunkPrefix = 2 * sizeof(std::size_t) + 2;  // hex digits, CR LF

Connection::Time now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

// Lets streams on any thread wake their connection, which itself is touched on the loop's thread
// only. One task in the loop serves all that woke it: what they send leaves together.
struct Connection::Wakes {
  std::shared_ptr<TransportCore> core{};
  std::weak_ptr<Connection> connection{};
  Mutex mutex{};
  std::vector<std::shared_ptr<Waker>> ready ATHANOR_GUARDED_BY(mutex){};
};

// Of one stream; waits in `ready` once at most.
struct Connection::Waker {
  std::shared_ptr<Wakes> wakes{};
  std::int32_t stream = 0;  // HTTP/2's
  std::atomic<bool> posted = false;
};

Connection::Connection(std::shared_ptr<TransportCore> core, int socket)
    : core_(std::move(core)),
      number_(++core_->last_connection),
      socket_(socket),
      peer_(net::peer_of(socket)),
      descriptor_(core_->loop, socket),
      tls_(core_->tls, socket),
      since_(now()),
      requests_(core_->requests),
      answers_(core_->answers),
      holder_(holder_of({})),
      reader_(core_->options.header_limit, core_->options.body_limit) {}

Connection::~Connection() = default;

void Connection::start() {
  set_deadline(core_->options.header_timeout);
  contained([this] { shake_hands(); });
}

std::optional<Connection::Time> Connection::resting_since() const {
  const bool rests = state_ == State::Handshake || state_ == State::Reading ||
                     state_ == State::Lingering || (state_ == State::Multiplexed && http2_->idle());
  return rests ? std::optional(since_) : std::nullopt;
}

void Connection::yield() {
  if (!std::exchange(turn_waits_, true)) {
    core_->turns.add([self = shared_from_this()] {
      self->turn_waits_ = false;
      self->contained([&] { self->on_turn(); });
    });
  }
}

void Connection::on_turn() {
  switch (state_) {
    case State::Reading:
      flush();  // "100 Continue"
      return read_requests();
    case State::Streaming:
      return look_for_disconnect();
    case State::Responding:
    case State::Handling:
    case State::Screening:
      return flush();
    case State::Multiplexed:
      return read_frames();
    case State::Lingering:
      return linger();
    case State::Handshake:
    case State::Closed:
      return;
  }
}

void Connection::set_deadline(std::chrono::milliseconds from_now) {
  deadline_ = now() + from_now;
}

void Connection::check_time(Time time) {
  // A terminal may be idle for as long as its user likes.
  const bool stalled = state_ == State::Streaming && !paced_ && stream_waits_ &&
                       time > progress_ + core_->options.stall_timeout;
  const bool unread = (state_ == State::Responding || state_ == State::Multiplexed) &&
                      output_bytes_ > 0 && time > progress_ + core_->options.write_timeout;
  if (time > deadline_ || stalled || unread) {
    return close();
  }
  if (state_ == State::Multiplexed) {
    contained([&] {
      http2_->check_time(time);
      pump();
    });
  }
}

void Connection::drain() {
  contained([this] {
    if (state_ == State::Handshake ||
        (state_ == State::Reading && reader_.state() == net::RequestReader::State::Idle)) {
      end();
    } else if (state_ == State::Multiplexed) {
      http2_->drain();
      pump();
    }
  });
}

void Connection::close() {
  if (std::exchange(state_, State::Closed) == State::Closed) {
    return;
  }
  const auto self = shared_from_this();
  for (const auto& [stream, cancellation] : std::exchange(running_, {})) {
    cancellation->cancel(Cancellation::Reason::Gone);
  }
  tunnel_ = nullptr;
  stream_.reset();
  http2_.reset();
  output_.clear();
  output_bytes_ = 0;
  input_ = {};
  requests_.set({}, 0);
  answers_.set({}, 0);
  descriptor_.close();
  core_->connections.erase(self);
  if (const auto address = core_->addresses.find(peer_);
      address != core_->addresses.end() && --address->second == 0) {
    core_->addresses.erase(address);
  }
  if (core_->connections.empty() && core_->when_empty) {
    core_->when_empty();
  }
}

void Connection::when_readable() {
  if (!std::exchange(read_armed_, true)) {
    descriptor_.when_readable([self = shared_from_this()] {
      self->read_armed_ = false;
      self->contained([&] { self->on_readable(); });
    });
  }
}

void Connection::when_writable() {
  if (!std::exchange(write_armed_, true)) {
    descriptor_.when_writable([self = shared_from_this()] {
      self->write_armed_ = false;
      self->contained([&] { self->on_writable(); });
    });
  }
}

void Connection::on_readable() {
  switch (state_) {
    case State::Handshake:
      return shake_hands();
    case State::Reading:
      return read_requests();
    case State::Streaming:
    case State::Handling:
      return look_for_disconnect();
    case State::Multiplexed:
      return read_frames();
    case State::Responding:
      return flush();  // TLS may have had to read before it could write
    case State::Lingering:
      return linger();
    case State::Screening:
    case State::Closed:
      return;
  }
}

void Connection::on_writable() {
  switch (state_) {
    case State::Handshake:
      return shake_hands();
    case State::Reading:
      flush();  // "100 Continue"
      return read_requests();
    case State::Responding:
    case State::Streaming:
    case State::Screening:
    case State::Handling:
      return flush();
    case State::Multiplexed:
      return pump();
    case State::Lingering:
    case State::Closed:
      return;
  }
}

void Connection::shake_hands() {
  switch (tls_.handshake()) {
    case net::TlsStream::Outcome::Done:
      credentials_ = tls_.credentials();
      if (tls_.http2()) {
        return begin_http2();
      }
      state_ = State::Reading;
      set_deadline(core_->options.idle_timeout);
      return read_requests();
    case net::TlsStream::Outcome::WantRead:
      return when_readable();
    case net::TlsStream::Outcome::WantWrite:
      return when_writable();
    case net::TlsStream::Outcome::Closed:
      return close();
  }
}

void Connection::read_requests() {
  net::Turn turn;
  while (state_ == State::Reading) {
    if (!turn.continues()) {
      return yield();
    }
    std::size_t size = 0;
    switch (tls_.read(core_->block, size)) {
      case net::TlsStream::Outcome::Done:
        input_.append(core_->block.data(), size);
        feed_reader();
        break;
      case net::TlsStream::Outcome::WantRead:
        return when_readable();
      case net::TlsStream::Outcome::WantWrite:
        return when_writable();
      case net::TlsStream::Outcome::Closed:
        return close();
    }
  }
}

void Connection::feed_reader() {
  const auto before = reader_.state();
  const auto after = reader_.feed(input_);
  if (after == net::RequestReader::State::Complete) {
    return dispatch();
  }
  if (after == net::RequestReader::State::Failed) {
    close_after_ = true;
    auto response = net::rejection_response(reader_.rejection());
    return respond(response);
  }
  if (after == net::RequestReader::State::Head && before == net::RequestReader::State::Idle) {
    set_deadline(core_->options.header_timeout);
  }
  if (after == net::RequestReader::State::Head && input_.size() > kSmall) {
    account_requests();
  }
  if (after == net::RequestReader::State::Body) {
    if (before != net::RequestReader::State::Body) {
      set_deadline(core_->options.body_timeout);
    }
    begin_body();
  }
}

// A body of some size is taken only from those who may send it.
void Connection::begin_body() {
  const std::size_t body = reader_.expected_body();
  if (!screened_ && body > kSmall) {
    state_ = State::Screening;
    return screen(reader_.head(), 0, body);
  }
  if (reader_.take_expectation() && input_.empty()) {
    send("HTTP/1.1 100 Continue\r\n\r\n");
    flush();
  }
}

// While a request is handled or a stream runs, the only thing of interest from the client is its
// end; the start of a further request is kept for later.
void Connection::look_for_disconnect() {
  flush();
  if (tunnel_ != nullptr) {
    return read_tunnel();
  }
  net::Turn turn;
  while ((state_ == State::Streaming || state_ == State::Handling) && input_.size() < kReadAhead) {
    if (!turn.continues()) {
      return yield();
    }
    std::size_t size = 0;
    switch (tls_.read(core_->block, size)) {
      case net::TlsStream::Outcome::Done:
        input_.append(core_->block.data(), size);
        break;
      case net::TlsStream::Outcome::WantRead:
        return when_readable();
      case net::TlsStream::Outcome::WantWrite:
        return when_writable();
      case net::TlsStream::Outcome::Closed:
        return close();
    }
  }
}

// What the client sends goes into the tunnel, as fast as that takes it.
void Connection::read_tunnel() {
  if (!input_.empty()) {
    tunnel_->feed(std::exchange(input_, {}));
  }
  net::Turn turn;
  bool waits = false;
  while (tunnel_->wants_more() && !waits && turn.continues()) {
    std::size_t size = 0;
    switch (tls_.read(core_->block, size)) {
      case net::TlsStream::Outcome::Done:
        tunnel_->feed({core_->block.data(), size});
        break;
      case net::TlsStream::Outcome::WantRead:
        when_readable();
        waits = true;
        break;
      case net::TlsStream::Outcome::WantWrite:
        when_writable();
        waits = true;
        break;
      case net::TlsStream::Outcome::Closed:
        return close();
    }
  }
  pull_stream();
  // Answers that the tunnel had to get rid of first are gone, or the turn was over.
  if (tunnel_ != nullptr && !waits && tunnel_->wants_more()) {
    yield();
  }
}

void Connection::begin_stream(std::unique_ptr<net::Stream> stream) {
  state_ = State::Streaming;
  paced_ = tunnel_ != nullptr || dynamic_cast<net::PacedStream*>(stream.get()) != nullptr;
  stream_ = std::move(stream);
  stream_->on_ready(make_waker(0));
}

std::function<void()> Connection::make_waker(std::int32_t stream) {
  if (wakes_ == nullptr) {
    wakes_ = std::make_shared<Wakes>();
    wakes_->core = core_;
    wakes_->connection = weak_from_this();
  }
  auto waker = std::make_shared<Waker>();
  waker->wakes = wakes_;
  waker->stream = stream;
  return [waker] {
    if (!waker->posted.exchange(true)) {
      post_wake(waker);
    }
  };
}

void Connection::post_wake(const std::shared_ptr<Waker>& waker) {
  const auto& wakes = waker->wakes;
  {
    const MutexLock lock(wakes->mutex);
    wakes->ready.push_back(waker);
    if (wakes->ready.size() > 1) {
      return;  // the task is on its way
    }
  }
  wakes->core->loop.post([wakes] {
    std::vector<std::shared_ptr<Waker>> ready;
    {
      const MutexLock lock(wakes->mutex);
      ready.swap(wakes->ready);
    }
    const auto self = wakes->connection.lock();
    for (const auto& one : ready) {
      one->posted = false;
    }
    if (self != nullptr) {
      self->contained([&] {
        for (const auto& one : ready) {
          if (self->state_ == State::Multiplexed) {
            self->http2_->wake(one->stream);
          } else {
            self->on_wake();
          }
        }
        self->pump();
      });
    }
  });
}

void Connection::begin_http2() {
  state_ = State::Multiplexed;
  const HttpsOptions& options = core_->options;
  http2_ = std::make_unique<net::Http2Session>(
      net::Http2Limits{.header_bytes = options.header_limit,
                       .body_bytes = options.body_limit,
                       .request_timeout = options.body_timeout,
                       .progress_timeout = options.write_timeout},
      net::Http2Session::Callbacks{
          .request = [this](std::int32_t stream,
                            net::Request request) { submit(std::move(request), stream); },
          .screen = [this](std::int32_t stream, net::Request head,
                           std::size_t body) { screen(std::move(head), stream, body); },
          .may_hold = [this](std::size_t more) { return core_->answers.admits(holder_, more); },
          .waker = [this](std::int32_t stream) { return make_waker(stream); },
          .gone = [this](std::int32_t stream) { abandon(stream); },
          .date = [this] { return date(); }});
  set_deadline(options.idle_timeout);
  read_frames();
}

void Connection::read_frames() {
  net::Turn turn;
  while (state_ == State::Multiplexed) {
    if (!turn.continues()) {
      yield();
      return pump();
    }
    std::size_t size = 0;
    switch (tls_.read(core_->block, size)) {
      case net::TlsStream::Outcome::Done:
        if (!http2_->feed({core_->block.data(), size}, now())) {
          pump();
          return close();
        }
        account_requests();
        break;
      case net::TlsStream::Outcome::WantRead:
        when_readable();
        return pump();
      case net::TlsStream::Outcome::WantWrite:
        when_writable();
        return pump();
      case net::TlsStream::Outcome::Closed:
        return close();
    }
  }
}

void Connection::pump() {
  net::Turn turn;
  while (state_ == State::Multiplexed) {
    if (!turn.continues()) {
      account();
      return yield();
    }
    std::string bytes;
    while (output_bytes_ + bytes.size() < kFramesAhead &&
           http2_->take_output(bytes, kFramesAhead - output_bytes_ - bytes.size())) {
    }
    if (bytes.empty() && output_.empty()) {
      break;
    }
    turn.wrote(bytes.size());
    if (!bytes.empty()) {
      send(std::move(bytes));
    }
    flush();
    if (!output_.empty()) {
      return;  // the socket is full, or the others have their turn
    }
  }
  account();
  account_requests();
  if (state_ != State::Multiplexed) {
    return;
  }
  if (http2_->over()) {
    return end();
  }
  if (!http2_->idle()) {
    clear_deadline();
  } else if (deadline_ == Time::max()) {
    since_ = now();
    requests_.set({}, 0);
    set_deadline(core_->options.idle_timeout);
  }
}

void Connection::on_wake() {
  if (tunnel_ != nullptr && state_ == State::Streaming && !read_armed_ && !turn_waits_) {
    return read_tunnel();  // it may take more now
  }
  pull_stream();
}

void Connection::pull_stream() {
  if (state_ != State::Streaming) {
    return;
  }
  if (output_bytes_ >= (paced_ ? kPacedLimit : core_->options.stream_limit)) {
    if (!std::exchange(stream_waits_, true)) {
      progress_ = now();
    }
    return;
  }
  stream_waits_ = false;
  const std::size_t prefix = stream_chunked_ ? kChunkPrefix : 0;
  std::string chunk(prefix, '\n');
  const bool ended = stream_->pull(chunk) == net::Stream::State::Ended;
  if (const std::size_t size = chunk.size() - prefix; size > 0 && stream_chunked_) {
    // The size goes right before the bytes, and the front of the prefix is skipped.
    std::array<char, kChunkPrefix> digits{};
    const auto* end = std::to_chars(digits.data(), digits.data() + digits.size(), size, 16).ptr;
    const auto length = static_cast<std::size_t>(end - digits.data());
    const std::size_t start = prefix - 2 - length;
    chunk.replace(start, length, digits.data(), length);
    chunk[prefix - 2] = '\r';
    chunk += "\r\n";
    send(std::move(chunk), start);
  } else if (size > 0) {
    send(std::move(chunk));
  }
  if (ended) {
    tunnel_ = nullptr;
    stream_.reset();
    state_ = State::Responding;
    if (stream_chunked_) {
      send("0\r\n\r\n");
    }
  }
  flush();
  // Many unread watches would each hold their share.
  if (state_ == State::Streaming && output_bytes_ > kSmall && core_->answers.exceeded(holder_)) {
    close();
  }
}

void Connection::send(std::string bytes, std::size_t offset) {
  if (output_.empty()) {
    progress_ = now();
    written_ = 0;
  }
  output_bytes_ += bytes.size() - offset;
  output_.push_back({.bytes = std::move(bytes), .offset = offset});
}

void Connection::flush() {
  net::Turn turn;
  while (!output_.empty()) {
    if (!turn.continues()) {
      account();
      return yield();
    }
    Piece& piece = output_.front();
    std::size_t size = 0;
    switch (tls_.write(std::string_view(piece.bytes).substr(piece.offset), size)) {
      case net::TlsStream::Outcome::Done:
        note_progress(size);
        turn.wrote(size);
        piece.offset += size;
        if (piece.offset == piece.bytes.size()) {
          output_.pop_front();
        }
        break;
      case net::TlsStream::Outcome::WantRead:
        account();
        return when_readable();
      case net::TlsStream::Outcome::WantWrite:
        account();
        return when_writable();
      case net::TlsStream::Outcome::Closed:
        return close();
    }
  }
  account();
  on_drained();
}

void Connection::account() {
  answers_.set(holder_, output_bytes_ + (http2_ ? http2_->answer_bytes() : 0));
}

// Unauthenticated requests are charged to their address.
void Connection::account_requests() {
  if (state_ != State::Multiplexed && state_ != State::Reading) {
    return;
  }
  const std::size_t bytes = http2_ ? http2_->request_bytes() : input_.size();
  const std::size_t before = requests_.bytes();
  const std::string address = holder_of({});
  if (bytes > before && bytes > kSmall && !core_->requests.admits(address, bytes - before)) {
    return close();
  }
  requests_.set(address, bytes > kSmall ? bytes : 0);
}

void Connection::note_progress(std::size_t size) {
  output_bytes_ -= size;
  written_ += size;
  if (written_ >= kProgress) {
    written_ = 0;
    progress_ = now();
  }
}

void Connection::on_drained() {
  if (state_ == State::Responding) {
    finish_response();
  } else if (state_ == State::Streaming && stream_waits_) {
    pull_stream();
    if (tunnel_ != nullptr && !read_armed_) {
      yield();  // it may take more now
    }
  }
}

void Connection::finish_response() {
  if (close_after_ || core_->draining) {
    return end();
  }
  state_ = State::Reading;
  since_ = now();
  requests_.set({}, 0);
  if (input_.empty() && input_.capacity() > kSmall) {
    input_ = {};
  }
  set_deadline(core_->options.idle_timeout);
  if (!input_.empty()) {
    feed_reader();
  }
  read_requests();
}

void Connection::end() {
  tls_.shutdown();
  if (reader_.state() != net::RequestReader::State::Failed && input_.empty() && !body_unread_) {
    return close();
  }
  // The client may still be sending, and closing now would reset the connection before it has read
  // the response.
  ::shutdown(socket_, SHUT_WR);
  state_ = State::Lingering;
  set_deadline(kLingerTime);
  linger();
}

void Connection::linger() {
  net::Turn turn;
  while (true) {
    if (!turn.continues()) {
      return yield();
    }
    const auto size = ::recv(socket_, core_->block.data(), core_->block.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return when_readable();
    }
    if (size <= 0 && !(size < 0 && errno == EINTR)) {
      return close();
    }
  }
}

const std::string& Connection::date() {
  const auto instant = core_->dependencies.clock->now();
  const auto second = std::chrono::floor<std::chrono::seconds>(instant);
  if (core_->date.empty() || second != core_->date_second) {
    core_->date = net::http_date(instant);
    core_->date_second = second;
  }
  return core_->date;
}

}  // namespace athanor::transport
