// SPDX-License-Identifier: Apache-2.0
// The HTTPS server end to end over loopback: requests, refusals, limits, certificates, shutdown.
#include "embedded/transport/https_server.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <zlib.h>

#include <atomic>
#include <string_view>
#include <thread>

#include "kube/text/json.hpp"
#include "net/crypto.hpp"
#include "unit/embedded/transport/https_fixture.hpp"

namespace athanor::transport::https_server_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

TEST_F(HttpsTest, SpeaksHttp2WithClientsThatOfferIt) {
  start();
  net::TlsClient client(port, {.ca_pem = pki.ca_certificate, .offer_http2 = true});
  EXPECT_EQ(client.protocol(), "h2");
}

TEST_F(HttpsTest, Http2CanBeTurnedOff) {
  options.http2 = false;
  start();
  net::TlsClient client(port, {.ca_pem = pki.ca_certificate, .offer_http2 = true});
  EXPECT_EQ(client.protocol(), "http/1.1");
  EXPECT_EQ(client.get("/").status, 200);
}

// A connection that leaves HTTP: bytes both ways, what came with the request included.
class EchoTunnel final : public net::Tunnel {
 public:
  void feed(std::string_view bytes) override { pending_ += bytes; }
  [[nodiscard]] bool wants_more() const override { return true; }
  State pull(std::string& out) override {
    out += std::exchange(pending_, {});
    return out.ends_with("bye") ? State::Ended : State::Open;
  }
  void on_ready(std::function<void()> /*wake*/) override {}

 private:
  std::string pending_{};
};

TEST_F(HttpsTest, TunnelsCarryBytesBothWays) {
  api.on("/tunnel", [](const net::Request&) {
    net::Response response;
    response.status = 101;
    response.headers = {{"Connection", "Upgrade"}, {"Upgrade", "echo"}};
    response.tunnel = std::make_unique<EchoTunnel>();
    return response;
  });
  start();
  net::TlsClient client(port);
  ASSERT_TRUE(
      client.send("GET /tunnel HTTP/1.1\r\nHost: a\r\nUpgrade: echo\r\n"
                  "Connection: Upgrade\r\n\r\n5\r\nhello\r\n"));
  auto head = client.read_head();
  EXPECT_EQ(head.status, 101);
  EXPECT_EQ(head.headers["connection"], "Upgrade");
  EXPECT_EQ(client.read_chunk(), "hello");
  ASSERT_TRUE(client.send("3\r\nbye"));
  EXPECT_EQ(client.read_chunk(), std::nullopt);
}

// One client's slow requests do not hold up another's quick one.
TEST_F(HttpsTest, AFloodLeavesAWorkerForOthers) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  api.on("/slow", [released](const net::Request&) {
    released.wait();
    return FakeServer::text("slow");
  });
  options.workers = 3;
  start();
  std::vector<std::unique_ptr<net::TlsClient>> flood;
  for (int i = 0; i < 20; ++i) {
    flood.push_back(std::make_unique<net::TlsClient>(port));
    ASSERT_TRUE(
        flood.back()->send("GET /slow HTTP/1.1\r\nHost: a\r\nAuthorization: flood\r\n\r\n"));
  }
  EXPECT_EQ(net::TlsClient(port).get("/quick", "Authorization: other\r\n").status, 200);
  release.set_value();
  for (const auto& client : flood) {
    EXPECT_EQ(client->read_response().body, "slow");
  }
}

TEST_F(HttpsTest, ReportsTimeoutOfQueuedRequests) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  api.on("/slow", [released](const net::Request& request) {
    if (!request.overdue) {
      released.wait();
    }
    return FakeServer::text(request.overdue ? "overdue" : "served");
  });
  options.workers = 1;
  options.max_reading = 2;
  start();
  std::vector<std::unique_ptr<net::TlsClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<net::TlsClient>(port));
    ASSERT_TRUE(clients.back()->send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"));
  }
  // A second for them to be overdue, two for the server to have read them.
  EXPECT_EQ(released.wait_for(std::chrono::seconds(3)), std::future_status::timeout);
  release.set_value();
  std::map<std::string, int> answers;
  for (const auto& client : clients) {
    ++answers[client->read_response().body];
  }
  EXPECT_EQ(answers["served"], 2);
  EXPECT_EQ(answers["overdue"], 2);
}

TEST_F(HttpsTest, AnswersManyRequestsOnOneConnection) {
  start();
  net::TlsClient client(port, trusting());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.protocol(), "http/1.1");
  for (int i = 0; i < 50; ++i) {
    const auto response = client.get("/a%20b?n=" + std::to_string(i));
    ASSERT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "GET /a b n=" + std::to_string(i) + " []");
    EXPECT_THAT(response.headers.at("date"), ::testing::EndsWith(" GMT"));
  }
}

TEST_F(HttpsTest, AnswersPipelinedRequestsInOrder) {
  start();
  net::TlsClient client(port);
  std::string requests;
  for (int i = 0; i < 20; ++i) {
    requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  }
  ASSERT_TRUE(client.send(requests));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(client.read_response().body, "GET /" + std::to_string(i) + " []");
  }
}

TEST_F(HttpsTest, PassesEveryMethodOn) {
  start();
  net::TlsClient client(port);
  for (const std::string method : {"OPTIONS", "PATCH", "DELETE", "BREW"}) {
    ASSERT_TRUE(client.send(method + " / HTTP/1.1\r\nHost: a\r\n\r\n"));
    EXPECT_EQ(client.read_response().body, method + " / []");
  }
  ASSERT_TRUE(client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto head = client.read_response("HEAD");
  EXPECT_EQ(head.headers.at("content-length"), "9");
  EXPECT_EQ(client.get("/next").body, "GET /next []") << "a HEAD response must have no body";
}

TEST_F(HttpsTest, EncodesValues) {
  api.on("/value", [](const net::Request&) {
    net::Response response;
    response.value = Value::object({{"a", 1}});
    return response;
  });
  start();
  EXPECT_EQ(net::TlsClient(port).get("/value").body, "{\"a\":1}\n");
  EXPECT_EQ(net::TlsClient(port).get("/value?pretty=true").body, "{\n  \"a\": 1\n}\n");
}

TEST_F(HttpsTest, ReadsBodiesOfBothFramings) {
  start();
  net::TlsClient client(port);
  const std::string big(2'000'000, 'x');
  ASSERT_TRUE(client.send("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n" + big));
  EXPECT_EQ(client.read_response().body, "POST /p [" + big + "]");
  ASSERT_TRUE(
      client.send("POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "3\r\nabc\r\n0\r\n\r\n"));
  EXPECT_EQ(client.read_response().body, "POST /p [abc]");
}

TEST_F(HttpsTest, LetsAClientContinue) {
  start();
  net::TlsClient client(port);
  ASSERT_TRUE(client.send(
      "PUT /p HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.read_response().status, 100);
  ASSERT_TRUE(client.send("ab"));
  EXPECT_EQ(client.read_response().body, "PUT /p [ab]");
}

TEST_F(HttpsTest, ClosesWhenAsked) {
  start();
  net::TlsClient client(port);
  const auto response = client.get("/", "Connection: close\r\n");
  EXPECT_EQ(response.headers.at("connection"), "close");
  EXPECT_TRUE(client.at_end());
  net::TlsClient old(port);
  ASSERT_TRUE(old.send("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_EQ(old.read_response().status, 200);
  EXPECT_TRUE(old.at_end());
}

TEST_F(HttpsTest, RefusesMalformedRequestsAndCloses) {
  start();
  const std::vector<std::pair<std::string, int>> bad = {
      {"GET / HTTP/1.1\r\nHost: a\r\nx : 1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"nonsense\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nx: " + std::string(1'100'000, 'x') + "\r\n\r\n", 431},
      {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505},
  };
  for (const auto& [request, status] : bad) {
    net::TlsClient client(port);
    ASSERT_TRUE(client.send(request));
    auto response = client.read_response();
    EXPECT_EQ(response.status, status);
    EXPECT_THAT(response.body, StartsWith(std::to_string(status) + " "));
    EXPECT_EQ(response.headers["connection"], "close");
    EXPECT_TRUE(client.at_end());
  }
}

TEST_F(HttpsTest, RefusesTooLargeABodyWithAStatus) {
  start();
  const std::string head = "POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: ";
  net::TlsClient at_limit(port);
  ASSERT_TRUE(at_limit.send(head + "3145728\r\n\r\n" + std::string(3145728, 'x')));
  EXPECT_EQ(at_limit.read_response().status, 200);
  net::TlsClient above(port);
  ASSERT_TRUE(above.send(head + "3145729\r\n\r\n" + std::string(200'000, 'x')));
  const auto response = above.read_response();
  EXPECT_EQ(response.status, 413);
  const auto status = json::parse(response.body);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ((*status)["kind"], "Status");
  EXPECT_EQ((*status)["reason"], "RequestEntityTooLarge");
  EXPECT_EQ((*status)["message"], "Request entity too large: limit is 3145728");
  EXPECT_EQ((*status)["code"], 413);
}

TEST_F(HttpsTest, PassesClientIdentityToApiServer) {
  api.on("/who", [](const net::Request& request) {
    const auto& credentials = request.credentials;
    std::string text = credentials.certificate_rejected ? "rejected" : "nobody";
    if (credentials.certificate) {
      text = credentials.certificate->common_name;
      for (const std::string& organization : credentials.certificate->organizations) {
        text += " " + organization;
      }
      text += " " + std::to_string(credentials.certificate->sha256_hex.size());
    }
    return FakeServer::text(text);
  });
  start();
  EXPECT_EQ(net::TlsClient(port, trusting()).get("/who").body, "nobody");
  EXPECT_EQ(net::TlsClient(port, as_admin()).get("/who").body,
            "kubernetes-admin system:masters 64");
  // A stranger's certificate neither counts nor ends the handshake.
  const auto key = net::generate_key();
  const auto stranger = net::issue({.common_name = "kubernetes-admin",
                                    .organizations = {"system:masters"},
                                    .use = net::CertificateSpec::Use::Client,
                                    .not_before = clock->now() - std::chrono::hours(1),
                                    .not_after = clock->now() + std::chrono::hours(1)},
                                   key->get(), {.key = key->get()});
  const net::ClientOptions forged{.certificate_pem = *net::certificate_pem(stranger->get()),
                                  .key_pem = *net::key_pem(key->get())};
  EXPECT_EQ(net::TlsClient(port, forged).get("/who").body, "rejected");
  // Nor does the server's own, which is not for clients.
  const net::ClientOptions server_as_client{.certificate_pem = pki.server_certificate,
                                            .key_pem = pki.server_key};
  EXPECT_EQ(net::TlsClient(port, server_as_client).get("/who").body, "rejected");
}

TEST_F(HttpsTest, ReportsAuthenticatingProxiesToApiServer) {
  options.front_proxy_ca_pem = pki.front_proxy_ca;
  api.on("/who", [](const net::Request& request) {
    return FakeServer::text(request.credentials.front_proxy.value_or("no proxy") + " from " +
                            request.peer);
  });
  start();
  EXPECT_EQ(net::TlsClient(port, as_admin()).get("/who").body, "no proxy from 127.0.0.1");
  const net::ClientOptions proxy{.ca_pem = pki.ca_certificate,
                                 .certificate_pem = pki.front_proxy_certificate,
                                 .key_pem = pki.front_proxy_key};
  EXPECT_EQ(net::TlsClient(port, proxy).get("/who").body, "front-proxy-client from 127.0.0.1");
}

std::string gunzip(const std::string& bytes) {
  z_stream stream{};
  inflateInit2(&stream, 15 + 16);
  std::string text(10'000'000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

TEST_F(HttpsTest, CompressesLargeBodiesForAcceptingClients) {
  const std::string large(128 * 1024, 'x');
  api.on("/large", [&](const net::Request&) { return FakeServer::text(large); });
  api.on("/small", [&](const net::Request&) { return FakeServer::text(large.substr(1)); });
  start();
  net::TlsClient client(port);
  const auto compressed = client.get("/large", "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(compressed.headers.at("content-encoding"), "gzip");
  EXPECT_EQ(compressed.headers.at("vary"), "Accept-Encoding");
  EXPECT_LT(compressed.body.size(), 10'000U);
  EXPECT_EQ(gunzip(compressed.body), large);
  EXPECT_EQ(client.get("/large").body, large);
  EXPECT_FALSE(
      client.get("/small", "Accept-Encoding: gzip\r\n").headers.contains("content-encoding"));
}

TEST_F(HttpsTest, SurvivesAHandlerThatThrows) {
  api.on("/throw",
         [](const net::Request&) -> net::Response { throw std::runtime_error("broken"); });
  start();
  net::TlsClient client(port);
  const auto response = client.get("/throw");
  EXPECT_EQ(response.status, 500);
  EXPECT_THAT(response.body, HasSubstr(R"("reason":"InternalError")"));
  EXPECT_EQ(client.get("/after").status, 200);
}

// Keeps what is appended until the test lets it go.
class HeldJournal final : public store::Journal {
 public:
  struct Held {
    std::mutex mutex{};
    std::vector<std::function<void(Result<void>)>> done{};
  };
  explicit HeldJournal(std::shared_ptr<Held> held) : held_(std::move(held)) {}
  Result<Recovered> recover() override { return Recovered{}; }
  void append(store::Revision /*revision*/, std::span<const store::EventPtr> /*events*/,
              std::function<void(Result<void>)> done) override {
    const std::lock_guard lock(held_->mutex);
    held_->done.push_back(std::move(done));
  }
  Result<void> writable() override { return {}; }
  void close() override {}

 private:
  std::shared_ptr<Held> held_;
};

TEST_F(HttpsTest, HoldsAnswersUntilTheStoreIsDurable) {
  auto held = std::make_shared<HeldJournal::Held>();
  const auto held_store = *store::Store::open(std::make_unique<HeldJournal>(held), {});
  store = held_store.get();
  std::promise<void> written;
  api.on("/write", [&](const net::Request& request) {
    const store::Write write{.resource = "configmaps",
                             .key = {"a", request.query[0].second},
                             .body = Value::object(),
                             .expected = std::nullopt};
    auto response = FakeServer::text("written");
    response.durable_after = store->commit({&write, 1}, Instant{})->front()->revision;
    if (request.query[0].second == "2") {
      written.set_value();
    }
    return response;
  });
  start();
  net::TlsClient first(port);
  net::TlsClient second(port);
  net::TlsClient reader(port);
  ASSERT_TRUE(first.send("GET /write?n=1 HTTP/1.1\r\nHost: a\r\n\r\n"));
  while (store->revision() < 1) {
    std::this_thread::yield();
  }
  ASSERT_TRUE(second.send("GET /write?n=2 HTTP/1.1\r\nHost: a\r\n\r\n"));
  written.get_future().wait();
  // Neither waits for a worker: others are served meanwhile.
  EXPECT_EQ(reader.get("/other").status, 200);
  held->done[0]({});
  EXPECT_EQ(first.read_response().body, "written");
  held->done[1](Error::internal("database or disk is full"));
  const auto failed = second.read_response();
  EXPECT_EQ(failed.status, 500);
  EXPECT_THAT(failed.body, HasSubstr("the write could not be stored: database or disk is full"));
  server.reset();
}

TEST_F(HttpsTest, EndsConnectionsThatTakeTooLong) {
  options.header_timeout = std::chrono::milliseconds(500);
  options.idle_timeout = std::chrono::milliseconds(500);
  options.body_timeout = std::chrono::milliseconds(500);
  start();
  net::TlsClient idle(port);
  EXPECT_TRUE(idle.at_end());
  net::TlsClient slow_head(port);
  ASSERT_TRUE(slow_head.send("GET / HTTP/1.1\r\nHo"));
  EXPECT_TRUE(slow_head.at_end());
  net::TlsClient slow_body(port);
  ASSERT_TRUE(slow_body.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab"));
  EXPECT_TRUE(slow_body.at_end());
}

// The time is that of the whole head and of the whole body, however often a byte comes.
TEST_F(HttpsTest, EndsConnectionsThatGoOnSendingTooSlowly) {
  options.header_timeout = std::chrono::milliseconds(500);
  options.body_timeout = std::chrono::milliseconds(500);
  start();
  for (const std::string_view begin :
       {"GET / HTTP/1.1\r\nHo", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"}) {
    net::TlsClient slow(port);
    ASSERT_TRUE(slow.send(begin));
    const auto began = std::chrono::steady_clock::now();
    while (slow.send("a") && std::chrono::steady_clock::now() - began < std::chrono::seconds(20)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10)) << begin;
  }
}

TEST_F(HttpsTest, BindsGivenAddressAndReportsFailure) {
  start();
  EXPECT_GT(port, 0);
  auto other = HttpsServer::create(options, {.server = &api, .clock = clock.get()});
  const auto taken = (*other)->bind("127.0.0.1", port);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().message,
            "cannot listen on 127.0.0.1:" + std::to_string(port) + ": Address already in use");
  EXPECT_FALSE((*other)->bind("no.such.host.invalid", 0).ok());
}

TEST_F(HttpsTest, RefusesKeysThatAreNone) {
  const auto made =
      HttpsServer::create({.certificate_pem = pki.server_certificate, .key_pem = pki.admin_key},
                          {.server = &api, .clock = clock.get()});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("cannot use the serving certificate"));
}

TEST_F(HttpsTest, SpeaksWithCurl) {
  start();
  const std::string ca = directory + "/pki/ca.crt";
  const std::string command =
      "curl -sS --max-time 20 --cacert " + ca + " --cert " + directory + "/pki/admin.crt --key " +
      directory + "/pki/admin.key -d hello https://localhost:" + std::to_string(port) + "/x?a=b";
  FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::array<char, 256> output{};
  const std::size_t size = std::fread(output.data(), 1, output.size(), pipe);
  EXPECT_EQ(::pclose(pipe), 0);
  EXPECT_EQ(std::string(output.data(), size), "POST /x a=b [hello]");
}

TEST_F(HttpsTest, LetsRunningRequestsEndWhenStopped) {
  std::promise<void> begun;
  std::promise<void> go_on;
  auto may_go_on = go_on.get_future().share();
  api.on("/slow", [&](const net::Request&) {
    begun.set_value();
    may_go_on.wait();
    return FakeServer::text("done");
  });
  start();
  net::TlsClient idle(port);
  net::TlsClient busy(port);
  ASSERT_EQ(idle.get("/").status, 200);
  ASSERT_TRUE(busy.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"));
  begun.get_future().wait();
  std::thread stopper([&] { server->stop(std::chrono::seconds(20)); });
  EXPECT_TRUE(idle.at_end());
  go_on.set_value();
  const auto response = busy.read_response();
  EXPECT_EQ(response.body, "done");
  EXPECT_EQ(response.headers.at("connection"), "close");
  EXPECT_TRUE(busy.at_end());
  stopper.join();
  EXPECT_FALSE(net::TlsClient(port).connected());
}

}  // namespace
}  // namespace athanor::transport::https_server_test
