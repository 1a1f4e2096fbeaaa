// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/serving/network.hpp"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include "embedded/nodes/network/address.hpp"

namespace athanor::lab {
namespace {

class BodyStream final : public net::Stream {
 public:
  explicit BodyStream(std::shared_ptr<client::HttpBody> body) : body_(std::move(body)) {}
  State pull(std::string& out) override { return body_->pull(out) ? State::Open : State::Ended; }
  void on_ready(std::function<void()> wake) override { body_->on_ready(std::move(wake)); }

 private:
  std::shared_ptr<client::HttpBody> body_;
};

class ChannelTunnel final : public net::Tunnel {
 public:
  explicit ChannelTunnel(std::shared_ptr<client::HttpChannel> channel)
      : channel_(std::move(channel)) {}
  State pull(std::string& out) override { return channel_->pull(out) ? State::Open : State::Ended; }
  void on_ready(std::function<void()> wake) override { channel_->on_ready(std::move(wake)); }
  void feed(std::string_view bytes) override { channel_->feed(bytes); }
  [[nodiscard]] bool wants_more() const override { return channel_->wants_more(); }

 private:
  std::shared_ptr<client::HttpChannel> channel_;
};

apiserver::OutsideAnswer answer_of(client::HttpReply reply) {
  apiserver::OutsideAnswer answer{.failure = std::move(reply.failure),
                                  .status = reply.status,
                                  .headers = std::move(reply.headers),
                                  .body = std::move(reply.body)};
  if (reply.stream != nullptr) {
    answer.stream = std::make_shared<BodyStream>(std::move(reply.stream));
  }
  return answer;
}

// Returns the "HOST:PORT" to connect to for a URL; another one than it names where a pod listens
// elsewhere (nodes::pod_port()).
std::string connect_place(const std::string& url, std::string place) {
  std::string_view named = place;
  if (named.empty()) {
    const std::size_t begin = url.find("://");
    named =
        begin == std::string::npos ? std::string_view() : std::string_view(url).substr(begin + 3);
    named = named.substr(0, named.find('/'));
  }
  const std::size_t colon = named.find(':');
  const auto ip = nodes::ip_of(named.substr(0, colon));
  std::uint16_t port = 0;
  if (!ip || colon == std::string_view::npos ||
      std::from_chars(named.data() + colon + 1, named.data() + named.size(), port).ec !=
          std::errc()) {
    return place;
  }
  const nodes::Address wanted{.ip = *ip, .port = port};
  const nodes::Address reached = nodes::reachable(wanted);
  return reached == wanted ? place : fmt::format("{}:{}", nodes::ip_text(*ip), reached.port);
}

}  // namespace

void Network::ask(apiserver::OutsideRequest request,
                  UniqueFunction<void(apiserver::OutsideAnswer)> done) {
  if (local_) {
    if (auto answer = local_(request)) {
      return done(std::move(*answer));
    }
  }
  std::string place = connect_place(request.url, std::move(request.connect_to));
  client::HttpQuery query{.method = std::move(request.method),
                          .url = std::move(request.url),
                          .headers = std::move(request.headers),
                          .body = std::move(request.body),
                          .ca_pem = std::move(request.ca_pem),
                          .certificate_pem = std::move(request.certificate_pem),
                          .key_pem = std::move(request.key_pem),
                          .connect_to = std::move(place),
                          .insecure_skip_verify = request.insecure_skip_verify,
                          .link_local = request.link_local,
                          .timeout = request.timeout,
                          .response_limit = request.response_limit,
                          .stream = request.stream};
  if (request.upgrade) {
    return upgrades_.send(
        std::move(query), [done = std::move(done)](client::UpgradeReply reply) mutable {
          apiserver::OutsideAnswer answer = answer_of(std::move(reply.reply));
          if (reply.channel != nullptr) {
            answer.channel = std::make_shared<ChannelTunnel>(std::move(reply.channel));
          }
          done(std::move(answer));
        });
  }
  http_.send(std::move(query), [done = std::move(done)](client::HttpReply reply) mutable {
    done(answer_of(std::move(reply)));
  });
}

}  // namespace athanor::lab
