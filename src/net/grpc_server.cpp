// SPDX-License-Identifier: Apache-2.0
#include "net/grpc_server.hpp"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <list>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/contain.hpp"
#include "base/memory.hpp"
#include "kube/text/http_status.hpp"
#include "net/acceptor.hpp"
#include "net/event_loop.hpp"
#include "net/http2_session.hpp"
#include "net/listen.hpp"

namespace athanor::net {
namespace {

constexpr std::size_t kPrefix = 5;  // compressed or not, and the length
constexpr std::size_t kOutputBytes = std::size_t{1} << 16;
constexpr std::size_t kHeadBytes = std::size_t{1} << 20;  // of unanswered requests together
constexpr std::chrono::milliseconds kCheck{5000};
constexpr std::chrono::seconds kMemoryLooks{1};
constexpr std::chrono::milliseconds kRequestTime{10'000};

// Printable ASCII but '%' stays; other bytes are written as %XX.
std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7E && c != '%') {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4U], kDigits[byte & 0xFU]};
    }
  }
  return out;
}

// The argument of one call; an answer with an error where there is none.
std::optional<std::string_view> message_of(std::string_view body, GrpcAnswer& refusal) {
  std::size_t size = 0;
  for (std::size_t i = 1; i < kPrefix && i < body.size(); ++i) {
    size = size << 8U | static_cast<unsigned char>(body[i]);
  }
  if (body.size() >= kPrefix && body[0] != 0) {
    refusal = {.status = kGrpcUnimplemented, .message = "compressed messages are not supported"};
    return std::nullopt;
  }
  if (body.size() < kPrefix || body.size() - kPrefix != size) {
    refusal = {.status = kGrpcInvalidArgument, .message = "malformed gRPC message"};
    return std::nullopt;
  }
  return body.substr(kPrefix);
}

net::Response response_of(GrpcAnswer answer) {
  net::Response response;
  response.content_type = "application/grpc";
  response.trailers = {{"grpc-status", std::to_string(answer.status)}};
  if (answer.stream != nullptr) {
    response.stream = std::move(answer.stream);
  } else if (answer.status == kGrpcOk) {
    response.body = grpc_frame(answer.body);
  } else {
    response.trailers.emplace_back("grpc-message", percent_encoded(answer.message));
  }
  return response;
}

// The gRPC status of a request that HTTP/2 refuses.
net::Response refusal_of(const net::Response& refusal) {
  const bool busy = refusal.status == 429;
  const bool malformed = refusal.status == 400;
  return response_of({.status = busy        ? kGrpcUnavailable
                                : malformed ? kGrpcInvalidArgument
                                            : kGrpcResourceExhausted,
                      .message = fmt::format("the request is refused: HTTP {} {}", refusal.status,
                                             reason_phrase(refusal.status))});
}

// One connection. On the loop's thread; tasks that wait keep it until close().
class GrpcClient : public std::enable_shared_from_this<GrpcClient> {
 public:
  GrpcClient(const std::shared_ptr<EventLoop>& loop, int socket, std::size_t request_bytes,
             const GrpcServer::Handle& handle)
      : loop_(loop),
        socket_(socket),
        descriptor_(*loop, socket),
        check_(*loop),
        handle_(handle),
        session_(
            {.body_bytes = request_bytes + kPrefix,
             .buffered_bytes = 2 * (request_bytes + kHeadBytes),
             .request_timeout = kRequestTime},
            {.request = [this](std::int32_t stream,
                               const net::Request& request) { serve(stream, request); },
             .screen =
                 [this](std::int32_t stream, const net::Request& /*head*/, std::size_t /*body*/) {
                   session_.screened(stream, Http2Session::Verdict::Go);
                 },
             .may_hold = [](std::size_t /*more*/) { return true; },
             .waker =
                 [this](std::int32_t stream) {
                   return [loop = loop_, weak = weak_from_this(), stream] {
                     loop->post([weak, stream] {
                       if (const auto self = weak.lock()) {
                         self->wake(stream);
                       }
                     });
                   };
                 },
             .date = [] { return std::string("Thu, 01 Jan 1970 00:00:00 GMT"); },
             .refusal = refusal_of}) {}
  GrpcClient(const GrpcClient&) = delete;
  GrpcClient& operator=(const GrpcClient&) = delete;

  void start(std::function<void()> gone) {
    gone_ = std::move(gone);
    look_after();
    turn();
  }
  void close() {
    closed_ = true;
    check_.cancel();
    descriptor_.close();
  }

 private:
  void serve(std::int32_t stream, const net::Request& request) {
    if (request.method != "POST" ||
        !request.header("content-type").starts_with("application/grpc")) {
      net::Response response;
      response.status = 415;
      response.content_type = "text/plain";
      return session_.respond(stream, response);
    }
    // The answer may come late, from another thread, or when the client or the server is gone.
    const GrpcServer::Reply reply = [loop = loop_, weak = weak_from_this(),
                                     stream](GrpcAnswer answer) {
      loop->post([weak, stream, answer = std::move(answer)]() mutable {
        if (const auto self = weak.lock()) {
          self->answer(stream, std::move(answer));
        }
      });
    };
    GrpcAnswer refusal;
    const std::string* body = std::get_if<std::string>(&request.body);
    const auto message = message_of(body == nullptr ? std::string_view() : *body, refusal);
    if (!message) {
      reply(std::move(refusal));
    } else if (contain([&] { handle_(request.path, *message, reply); })) {
      reply({.status = kGrpcUnknown, .message = "the call failed"});
    }
  }
  void answer(std::int32_t stream, GrpcAnswer answer) {
    if (closed_) {
      return;
    }
    net::Response response = response_of(std::move(answer));
    session_.respond(stream, response);
    flush_or_leave();
  }
  void wake(std::int32_t stream) {
    if (!closed_) {
      session_.wake(stream);
      flush_or_leave();
    }
  }
  void look_after() {
    check_.set(kCheck, [self = shared_from_this()] {
      if (self->closed_) {
        return;
      }
      self->session_.check_time(std::chrono::steady_clock::now());
      self->look_after();
      self->flush_or_leave();
    });
  }
  void flush_or_leave() {
    if (!flush()) {
      gone_();
    }
  }
  // Reads what there is, answers it and waits for more. Calls gone_ at the end of all.
  void turn() {
    std::array<char, std::size_t{16} * 1024> block{};
    bool over = false;
    for (;;) {
      const auto got = ::recv(socket_, block.data(), block.size(), 0);
      if (got > 0) {
        over = !session_.feed({block.data(), static_cast<std::size_t>(got)},
                              std::chrono::steady_clock::now());
        if (!over) {
          continue;
        }
      } else {
        over = got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
      }
      break;
    }
    if (!flush() || over || session_.over()) {
      return gone_();
    }
    descriptor_.when_readable([self = shared_from_this()] {
      if (!self->closed_) {
        self->turn();
      }
    });
  }
  // False: the client is gone.
  bool flush() {
    if (waits_) {
      return true;
    }
    for (;;) {
      if (output_.empty() && !session_.take_output(output_, kOutputBytes)) {
        return true;
      }
      const auto sent = ::send(socket_, output_.data(), output_.size(), MSG_NOSIGNAL);
      if (sent < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK) {
          return false;
        }
        waits_ = true;
        descriptor_.when_writable([self = shared_from_this()] {
          self->waits_ = false;
          if (!self->closed_) {
            self->flush_or_leave();
          }
        });
        return true;
      }
      output_.erase(0, static_cast<std::size_t>(sent));
    }
  }

  std::shared_ptr<EventLoop> loop_;
  int socket_;
  EventLoop::Descriptor descriptor_;
  EventLoop::Timer check_;
  const GrpcServer::Handle& handle_;
  Http2Session session_;
  std::function<void()> gone_{};
  std::string output_{};
  bool waits_ = false;  // for the client to read
  bool closed_ = false;
};

// What lies at a path; zeros: nothing.
std::pair<dev_t, ino_t> file_of(const std::string& path) {
  struct stat state {};
  return ::lstat(path.c_str(), &state) == 0 ? std::pair{state.st_dev, state.st_ino}
                                            : std::pair<dev_t, ino_t>{};
}

// A socket that listens, and the file that it is.
struct Bound {
  int socket = -1;
  std::pair<dev_t, ino_t> file{};
};

// One socket and its connections. On the loop's thread.
class Site {
 public:
  Site(const std::shared_ptr<EventLoop>& loop, const GrpcServerLimits& limits, std::string path,
       const Bound& bound, GrpcServer::Handle handle)
      : loop_(loop),
        limits_(limits),
        path_(std::move(path)),
        file_(bound.file),
        handle_(std::move(handle)),
        acceptor_(*loop, bound.socket, [this](int client) { adopt(client); }) {}
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;
  ~Site() {
    acceptor_.close();
    for (const auto& client : clients_) {
      client->close();
    }
    if (file_of(path_) == file_) {  // another one may have taken the path
      ::unlink(path_.c_str());
    }
  }
  void start() { acceptor_.start(); }

 private:
  void adopt(int socket) {
    if (clients_.size() >= limits_.clients) {
      ::close(socket);
      return;
    }
    const auto client = clients_.insert(
        clients_.end(), std::make_shared<GrpcClient>(loop_, socket, limits_.request, handle_));
    const std::shared_ptr<GrpcClient> started = *client;
    started->start([this, client] {
      (*client)->close();
      clients_.erase(client);
    });
  }

  std::shared_ptr<EventLoop> loop_;
  GrpcServerLimits limits_;
  std::string path_;
  std::pair<dev_t, ino_t> file_;
  GrpcServer::Handle handle_;
  Acceptor acceptor_;
  std::list<std::shared_ptr<GrpcClient>> clients_{};
};

}  // namespace

std::string grpc_frame(std::string_view message) {
  std::string frame(kPrefix, '\0');
  for (std::size_t i = 0; i < 4; ++i) {
    frame[4 - i] = static_cast<char>(message.size() >> (8 * i) & 0xFFU);
  }
  frame += message;
  return frame;
}

struct GrpcServer::State {
  explicit State(const GrpcServerLimits& server_limits)
      : limits(server_limits), spike_timer(*loop) {}

  // Gives back what many large requests left behind.
  void release_memory() {
    idle.look(std::chrono::steady_clock::now());
    spike_timer.set(kMemoryLooks, [this] { release_memory(); });
  }

  const GrpcServerLimits limits;
  const std::shared_ptr<EventLoop> loop = std::make_shared<EventLoop>();
  memory::IdleRelease idle{};
  EventLoop::Timer spike_timer;
  std::map<std::string, std::unique_ptr<Site>> sites{};  // for the loop's thread
  std::thread thread{};
};

GrpcServer::GrpcServer(const GrpcServerLimits& limits) : state_(std::make_unique<State>(limits)) {
  state_->loop->post([state = state_.get()] { state->release_memory(); });
  state_->thread = std::thread([state = state_.get()] { state->loop->run(); });
}

GrpcServer::~GrpcServer() {
  state_->loop->stop();
  state_->thread.join();
  state_->sites.clear();
  state_->spike_timer.cancel();
  state_->loop->close();
}

Result<void> GrpcServer::open(const std::string& path, Handle handle) {
  ATHANOR_TRY(const int listening, listen_at_path(path));
  const Bound bound{.socket = listening, .file = file_of(path)};
  state_->loop->post([state = state_.get(), path, bound, handle = std::move(handle)]() mutable {
    state->sites.erase(path);
    auto site = std::make_unique<Site>(state->loop, state->limits, path, bound, std::move(handle));
    site->start();
    state->sites.emplace(path, std::move(site));
  });
  return {};
}

void GrpcServer::close(const std::string& path) {
  state_->loop->post([state = state_.get(), path] { state->sites.erase(path); });
}

}  // namespace athanor::net
