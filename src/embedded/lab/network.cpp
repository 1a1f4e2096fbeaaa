// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/network.hpp"

#include <utility>

namespace athanor::lab {
namespace {

class BodyStream final : public apiserver::Stream {
 public:
  explicit BodyStream(std::shared_ptr<client::HttpBody> body) : body_(std::move(body)) {}
  State pull(std::string& out) override { return body_->pull(out) ? State::Open : State::Ended; }
  void on_ready(std::function<void()> wake) override { body_->on_ready(std::move(wake)); }

 private:
  std::shared_ptr<client::HttpBody> body_;
};

}  // namespace

void Network::ask(apiserver::OutsideRequest request,
                  UniqueFunction<void(apiserver::OutsideAnswer)> done) {
  client::HttpQuery query{.method = std::move(request.method),
                          .url = std::move(request.url),
                          .headers = std::move(request.headers),
                          .body = std::move(request.body),
                          .ca_pem = std::move(request.ca_pem),
                          .certificate_pem = std::move(request.certificate_pem),
                          .key_pem = std::move(request.key_pem),
                          .connect_to = std::move(request.connect_to),
                          .insecure_skip_verify = request.insecure_skip_verify,
                          .timeout = request.timeout,
                          .response_limit = request.response_limit,
                          .stream = request.stream};
  http_.send(std::move(query), [done = std::move(done)](client::HttpReply reply) mutable {
    apiserver::OutsideAnswer answer{.failure = std::move(reply.failure),
                                    .status = reply.status,
                                    .headers = std::move(reply.headers),
                                    .body = std::move(reply.body)};
    if (reply.stream != nullptr) {
      answer.stream = std::make_shared<BodyStream>(std::move(reply.stream));
    }
    done(std::move(answer));
  });
}

}  // namespace athanor::lab
