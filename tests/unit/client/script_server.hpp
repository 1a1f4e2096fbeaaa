// SPDX-License-Identifier: Apache-2.0
// A plain HTTP/1.1 server that misbehaves as a test says: byte-exact answers, cuts, silence.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace athanor::client {

class ScriptServer {
 public:
  struct Request {
    int number = 0;      // of all, from 0
    int connection = 0;  // from 0
    std::string method{};
    std::string path{};
    std::string head{};  // as it came
    std::string body{};
  };
  struct Reply {
    enum class Then { Keep, Close, Reset, Hang };  // Hang: until the client leaves
    std::string bytes{};
    Then then = Then::Keep;
  };
  using Script = std::function<Reply(const Request&)>;

  explicit ScriptServer(Script script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_, 64), 0);
    socklen_t size = sizeof(address);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ScriptServer(const ScriptServer&) = delete;
  ScriptServer& operator=(const ScriptServer&) = delete;
  ~ScriptServer() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int socket : sockets_) {
        ::shutdown(socket, SHUT_RDWR);
      }
    }
    for (std::thread& thread : threads_) {
      thread.join();
    }
    for (const int socket : sockets_) {
      ::close(socket);
    }
    ::close(listener_);
  }

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  [[nodiscard]] int connections() const { return connections_; }

  static std::string json(const std::string& body, const std::string& status = "200 OK",
                          const std::string& headers = "") {
    return "HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

 private:
  void accept_all() {
    while (!stopping_) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) {
        return;
      }
      const std::lock_guard lock(mutex_);
      sockets_.push_back(socket);
      threads_.emplace_back([this, socket, number = connections_++] { serve(socket, number); });
    }
  }

  bool read_request(int socket, std::string& input, Request& request) {
    const auto fill = [&] {
      char buffer[4096];
      const ssize_t count = ::recv(socket, buffer, sizeof(buffer), 0);
      if (count > 0) {
        input.append(buffer, static_cast<std::size_t>(count));
      }
      return count > 0;
    };
    std::size_t end = 0;
    while ((end = input.find("\r\n\r\n")) == std::string::npos) {
      if (!fill()) {
        return false;
      }
    }
    request.head = input.substr(0, end + 4);
    input.erase(0, end + 4);
    const std::size_t space = request.head.find(' ');
    request.method = request.head.substr(0, space);
    request.path = request.head.substr(space + 1, request.head.find(' ', space + 1) - space - 1);
    std::size_t length = 0;
    if (const std::size_t at = request.head.find("Content-Length: "); at != std::string::npos) {
      length = std::strtoul(request.head.c_str() + at + 16, nullptr, 10);
    }
    while (input.size() < length) {
      if (!fill()) {
        return false;
      }
    }
    request.body = input.substr(0, length);
    input.erase(0, length);
    return true;
  }

  void serve(int socket, int connection) {
    std::string input;
    while (true) {
      Request request;
      if (!read_request(socket, input, request)) {
        break;
      }
      request.connection = connection;
      {
        const std::lock_guard lock(mutex_);
        request.number = static_cast<int>(requests_.size());
        requests_.push_back(request);
      }
      const Reply reply = script_(request);
      static_cast<void>(::send(socket, reply.bytes.data(), reply.bytes.size(), MSG_NOSIGNAL));
      if (reply.then == Reply::Then::Hang) {
        char byte = 0;
        while (::recv(socket, &byte, 1, 0) > 0) {
        }
      }
      if (reply.then == Reply::Then::Reset) {
        const linger now{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        const std::lock_guard lock(mutex_);
        std::erase(sockets_, socket);
        ::close(socket);
        return;
      }
      if (reply.then != Reply::Then::Keep) {
        break;
      }
    }
    ::shutdown(socket, SHUT_RDWR);
  }

  Script script_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> connections_{0};
  std::thread acceptor_{};
  mutable std::mutex mutex_{};
  std::vector<Request> requests_{};
  std::vector<int> sockets_{};
  std::vector<std::thread> threads_{};
};

}  // namespace athanor::client
