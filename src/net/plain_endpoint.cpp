// SPDX-License-Identifier: Apache-2.0
#include "net/plain_endpoint.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <list>
#include <string_view>
#include <thread>
#include <utility>

#include "net/acceptor.hpp"
#include "net/event_loop.hpp"
#include "net/listen.hpp"

namespace athanor::transport {
namespace {

constexpr std::size_t kHeadLimit = 8192;  // bytes
constexpr auto kTimeLimit = std::chrono::seconds(5);
constexpr std::size_t kMostClients = 256;  // a further one takes the place of the oldest

std::string answer_text(std::string_view status, std::string_view body) {
  return "HTTP/1.1 " + std::string(status) +
         "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

struct Client {
  Client(EventLoop& loop, int fd) : socket(fd), descriptor(loop, fd), deadline(loop) {}
  int socket;
  EventLoop::Descriptor descriptor;
  EventLoop::Timer deadline;
  std::string head{};
};
using ClientPtr = std::shared_ptr<Client>;

}  // namespace

// All functions on the loop's thread.
struct PlainEndpoint::State {
  State(int listening, std::map<std::string, std::string> texts)
      : answers(std::move(texts)),
        acceptor(loop, listening, [this](int client) { adopt(client); }) {}

  void adopt(int socket);
  void read(const ClientPtr& client);
  void answer(const ClientPtr& client);
  void part(const ClientPtr& client);

  EventLoop loop{};
  const std::map<std::string, std::string> answers;
  Acceptor acceptor;
  std::list<ClientPtr> clients{};  // in the order in which they came
  std::thread thread{};
};

void PlainEndpoint::State::adopt(int socket) {
  if (clients.size() >= kMostClients) {
    part(ClientPtr(clients.front()));
  }
  const auto client = clients.emplace_back(std::make_shared<Client>(loop, socket));
  client->deadline.set(kTimeLimit, [this, client] { part(client); });
  read(client);
}

void PlainEndpoint::State::read(const ClientPtr& client) {
  std::array<char, 1024> buffer{};
  while (true) {
    const auto got = ::recv(client->socket, buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return client->descriptor.when_readable([this, client] { read(client); });
    }
    if (got <= 0) {
      break;
    }
    client->head.append(buffer.data(), static_cast<std::size_t>(got));
    if (client->head.find("\r\n\r\n") != std::string::npos) {
      answer(client);
      break;
    }
    if (client->head.size() > kHeadLimit) {
      break;
    }
  }
  part(client);
}

void PlainEndpoint::State::part(const ClientPtr& client) {
  client->deadline.cancel();
  client->descriptor.close();
  clients.remove(client);
}

void PlainEndpoint::State::answer(const ClientPtr& client) {
  const std::string_view line = std::string_view(client->head).substr(0, client->head.find("\r\n"));
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find_first_of(" ?", first + 1);
  std::string text = answer_text("404 Not Found", "{}");
  if (first == std::string_view::npos || second == std::string_view::npos) {
    text = answer_text("400 Bad Request", "{}");
  } else if (line.substr(0, first) != "GET") {
    text = answer_text("405 Method Not Allowed", "{}");
  } else if (const auto known =
                 answers.find(std::string(line.substr(first + 1, second - first - 1)));
             known != answers.end()) {
    text = answer_text("200 OK", known->second);
  }
  // Shorter than any socket's buffer: it goes as a whole or the client is gone.
  const auto sent = ::send(client->socket, text.data(), text.size(), MSG_NOSIGNAL);
  if (sent > 0) {
    ::shutdown(client->socket, SHUT_WR);
  }
}

Result<std::unique_ptr<PlainEndpoint>> PlainEndpoint::start(
    const std::string& host, int port, std::map<std::string, std::string> answers) {
  ATHANOR_TRY(const int socket, listen_on(host, port));
  auto state = std::make_unique<State>(socket, std::move(answers));
  state->thread = std::thread([state = state.get()] {
    state->acceptor.start();
    state->loop.run();
  });
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<PlainEndpoint>(new PlainEndpoint(std::move(state)));
}

PlainEndpoint::PlainEndpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}

PlainEndpoint::~PlainEndpoint() {
  state_->loop.stop();
  state_->thread.join();
  // Tasks that wait hold clients; they go before the loop does.
  state_->acceptor.close();
  for (const ClientPtr& client : state_->clients) {
    client->deadline.cancel();
    client->descriptor.close();
  }
  state_->clients.clear();
  state_->loop.close();
}

int PlainEndpoint::port() const {
  return port_of(state_->acceptor.socket());
}

}  // namespace athanor::transport
