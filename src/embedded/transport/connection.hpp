// SPDX-License-Identifier: Apache-2.0
// One client connection of the HTTPS server. Everything here happens on the event loop's thread,
// except handle() and what it calls.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/cancellation.hpp"
#include "base/contain.hpp"
#include "embedded/transport/https_server.hpp"
#include "embedded/transport/ledger.hpp"
#include "net/event_loop.hpp"
#include "net/http2_session.hpp"
#include "net/request_reader.hpp"
#include "net/response_writer.hpp"
#include "net/tls.hpp"
#include "net/turns.hpp"
#include "net/worker_pool.hpp"

namespace athanor::transport {

class Connection;

// What all connections of a server share.
struct TransportCore {
  TransportCore(HttpsOptions server_options, const HttpsDependencies& server_dependencies,
                net::TlsContext context)
      : options(std::move(server_options)),
        dependencies(server_dependencies),
        tls(std::move(context)),
        requests({.each = options.requests_each, .all = options.requests_all}),
        answers({.each = options.unread_each, .all = options.unread_all}),
        workers(options.workers,
                {.reading = options.max_reading,
                 .mutating = options.max_mutating,
                 // One worker stays free for others.
                 .running_for_one = static_cast<std::size_t>(std::max(1, options.workers - 1))}) {}

  const HttpsOptions options;
  const HttpsDependencies dependencies;
  const net::TlsContext tls;
  net::EventLoop loop{};
  // For the loop's thread alone:
  net::TurnQueue turns{loop};
  Ledger requests;  // bytes that are not answered
  Ledger answers;   // bytes that are not read
  std::set<std::shared_ptr<Connection>> connections{};
  std::map<std::string, std::size_t> addresses{};  // how many connections each has
  std::function<void()> when_empty{};              // the last connection is gone
  std::uint64_t last_connection = 0;
  bool draining = false;  // connections close after their response
  // True once what runs is to end.
  const std::shared_ptr<std::atomic<bool>> ending = std::make_shared<std::atomic<bool>>(false);
  std::array<char, std::size_t{16} * 1024>
      block{};         // where reads go first, so that idle connections have none
  std::string date{};  // of date_second
  std::chrono::sys_seconds date_second{};
  // For every thread; its tasks hold connections, so it goes first.
  net::WorkerPool workers;
};

// One client connection. On the event loop's thread, but for what its comments say otherwise.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Owns the socket, which is non-blocking.
  Connection(std::shared_ptr<TransportCore> core, int socket);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  void start();
  [[nodiscard]] const std::string& peer() const { return peer_; }
  // Returns the time since which the connection is idle; nullopt: it is busy.
  [[nodiscard]] std::optional<Time> resting_since() const;
  // Returns true once the connection has brought a whole request.
  [[nodiscard]] bool served() const { return served_; }
  // Closes the connection when one of its deadlines has passed.
  void check_time(Time now);
  // Ends the connection as soon as no request is under way.
  void drain();
  // Ends it now.
  void close();

 private:
  enum class State : std::uint8_t {
    Handshake,
    Reading,      // a request, or nothing yet
    Screening,    // a worker looks at the head, the body has to wait
    Handling,     // a worker has it, or the disk
    Responding,   // the rest of the response is in output_
    Streaming,    // more comes from stream_
    Multiplexed,  // HTTP/2: http2_ knows
    Lingering,    // all is said; waits for the client to close
    Closed,
  };
  struct Piece {
    std::string bytes{};
    std::size_t offset = 0;
  };
  struct Wakes;
  struct Waker;

  // Runs `work`; a broken invariant in it costs the connection.
  template <class Work>
  void contained(Work&& work);
  // Goes on when the others had their turn.
  void yield();
  void on_turn();

  // Reads: calls on_readable() once the socket is readable.
  void when_readable();
  void when_writable();
  void on_readable();
  void on_writable();
  void shake_hands();
  void read_requests();
  void look_for_disconnect();
  void read_tunnel();
  void feed_reader();
  void begin_body();
  void linger();

  // Handles: submits the complete request of HTTP/1.1.
  void dispatch();
  // Submits a request to the workers. `stream` is HTTP/2's, 0 otherwise.
  void submit(net::Request request, std::int32_t stream);
  // Asks whether a body of so many bytes may come; ends in screened().
  void screen(net::Request head, std::int32_t stream, std::size_t body);
  void screened(std::int32_t stream, net::Http2Session::Verdict verdict);
  net::Http2Session::Verdict verdict_of(bool admitted, const std::string& user, std::size_t body);
  // Returns the owner of held bytes.
  [[nodiscard]] std::string holder_of(const net::Flow& flow) const;
  // Answers 429 instead when the client has too many answers to read.
  void bound_answer(net::Response& response) const;
  [[nodiscard]] net::Flow flow_of(const net::Request& request) const;
  // Cancels the request of an answer whose client is gone.
  void abandon(std::int32_t stream);
  // Handles a request on a worker.
  void handle(net::Request request, std::int32_t stream,
              const std::shared_ptr<Cancellation>& cancellation);
  void handled(const net::Request& asked, net::Response answered, std::int32_t stream);
  enum class Means : std::uint8_t { Reading, Writing };  // what the request wanted
  void answer(std::shared_ptr<net::Response> response, std::int32_t stream,
              Means means);  // any thread
  std::function<void()> make_waker(std::int32_t stream);
  static void post_wake(const std::shared_ptr<Waker>& waker);  // any thread
  void respond(net::Response& response);
  void respond_with_body(net::Response& response, net::Framing framing);
  void respond_with_stream(net::Response& response, net::Framing framing);
  void respond_with_tunnel(net::Response& response, net::Framing framing);
  void begin_stream(std::unique_ptr<net::Stream> stream);

  // Starts HTTP/2.
  void begin_http2();
  void read_frames();
  // Sends what the session has to say, as long as the socket takes it.
  void pump();

  // Writes: queues bytes for flush().
  void send(std::string bytes, std::size_t offset = 0);
  void flush();
  // Writes down what it holds for its client.
  void account();
  void account_requests();
  void note_progress(std::size_t size);
  void on_drained();
  void on_wake();
  void pull_stream();
  void finish_response();
  // Closes once the client has what was sent.
  void end();

  void set_deadline(std::chrono::milliseconds from_now);
  void clear_deadline() { deadline_ = Time::max(); }
  const std::string& date();

  const std::shared_ptr<TransportCore> core_;
  const std::uint64_t number_;  // identifies the connection
  const int socket_;
  const std::string peer_;  // the client's address
  net::EventLoop::Descriptor descriptor_;
  net::TlsStream tls_;
  State state_ = State::Handshake;
  bool read_armed_ = false;
  bool write_armed_ = false;
  bool turn_waits_ = false;
  bool served_ = false;
  Time deadline_ = Time::max();
  Time since_;  // when it had nothing to do for the last time
  Ledger::Share requests_;
  Ledger::Share answers_;
  std::string holder_{};  // of the answers

  // Requests that workers have, by stream.
  std::map<std::int32_t, std::shared_ptr<Cancellation>> running_{};

  std::string input_{};  // read and not yet parsed
  net::RequestReader reader_;
  bool screened_ = false;     // the body may come
  bool body_unread_ = false;  // and it may not: the client still sends it
  net::Credentials credentials_{};

  std::deque<Piece> output_{};
  std::size_t output_bytes_ = 0;
  std::size_t written_ = 0;  // since progress_
  Time progress_{};          // when enough bytes went last
  bool close_after_ = false;

  std::unique_ptr<net::Http2Session> http2_{};
  std::shared_ptr<Wakes> wakes_{};  // once a stream needs it
  std::unique_ptr<net::Stream> stream_{};
  net::Tunnel* tunnel_ = nullptr;  // stream_, when it takes bytes, too
  bool paced_ = false;             // stream_ waits for a client that does not read
  bool stream_chunked_ = false;
  bool stream_waits_ = false;  // it may have more, but output_ is full
};

template <class Work>
void Connection::contained(Work&& work) {
  if (contain(std::forward<Work>(work))) {
    close();
  }
}

}  // namespace athanor::transport
