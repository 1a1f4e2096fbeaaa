// SPDX-License-Identifier: Apache-2.0
// Watches over HTTPS: chunks, many at once, clients that leave or do not read, shutdown.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <thread>

#include "unit/embedded/transport/https_fixture.hpp"

namespace athanor::transport::https_stream_test {
namespace {

const std::string kWatch = "GET /watch HTTP/1.1\r\nHost: a\r\n\r\n";

TEST_F(HttpsTest, StreamsChunksAsTheyCome) {
  auto feed = std::make_shared<Feed>();
  api.on("/watch", streaming(feed));
  start();
  net::TlsClient client(port);
  ASSERT_TRUE(client.send(kWatch));
  const auto head = client.read_head();
  EXPECT_EQ(head.status, 200) << "the head must not wait for the first event";
  EXPECT_EQ(head.headers.at("transfer-encoding"), "chunked");
  feed->add("one\n");
  EXPECT_EQ(client.read_chunk(), "one\n");
  const std::string large(100'000, 'x');
  feed->add(large);
  EXPECT_EQ(client.read_chunk(), large);
  feed->add("last\n");
  feed->end();
  std::string rest;
  for (auto chunk = client.read_chunk(); chunk && !chunk->empty(); chunk = client.read_chunk()) {
    rest += *chunk;
  }
  EXPECT_EQ(rest, "last\n");
  EXPECT_TRUE(feed->wait_until_gone());
  EXPECT_EQ(client.get("/after").body, "GET /after []") << "the connection goes on";
}

TEST_F(HttpsTest, StreamsToOldClientsUntilTheEnd) {
  auto feed = std::make_shared<Feed>();
  api.on("/watch", streaming(feed));
  start();
  net::TlsClient client(port);
  ASSERT_TRUE(client.send("GET /watch HTTP/1.0\r\n\r\n"));
  feed->add("one\n");
  feed->end();
  EXPECT_EQ(client.read_response().body, "one\n");
}

TEST_F(HttpsTest, EndsTheStreamOfAClientThatLeaves) {
  auto feed = std::make_shared<Feed>();
  api.on("/watch", streaming(feed));
  start();
  {
    net::TlsClient client(port);
    ASSERT_TRUE(client.send(kWatch));
    ASSERT_EQ(client.read_head().status, 200);
  }
  EXPECT_TRUE(feed->wait_until_gone());
  feed->add("nobody hears this");
}

TEST_F(HttpsTest, DisconnectsAClientThatDoesNotRead) {
  auto feed = std::make_shared<Feed>();
  api.on("/watch", streaming(feed));
  options.stream_limit = 1'000'000;
  options.stall_timeout = std::chrono::milliseconds(200);
  start();
  net::TlsClient client(port, {.receive_buffer = 4096});
  ASSERT_TRUE(client.send(kWatch));
  ASSERT_EQ(client.read_head().status, 200);
  // More than the sockets and the limit together hold; the rest stays with the stream.
  for (int i = 0; i < 64; ++i) {
    feed->add(std::string(1'000'000, 'x'));
  }
  feed->add("x");
  EXPECT_TRUE(feed->wait_until_gone());
  EXPECT_EQ(net::TlsClient(port).get("/other").status, 200);
}

TEST_F(HttpsTest, KeepsASlowReaderThatMakesProgress) {
  auto feed = std::make_shared<Feed>();
  api.on("/watch", streaming(feed));
  options.stream_limit = 100'000;
  start();
  net::TlsClient client(port);
  ASSERT_TRUE(client.send(kWatch));
  ASSERT_EQ(client.read_head().status, 200);
  constexpr std::size_t kTotal = 20'000'000;
  std::thread writer([&] {
    for (std::size_t sent = 0; sent < kTotal; sent += 50'000) {
      feed->add(std::string(50'000, 'x'));
    }
    feed->end();
  });
  std::size_t received = 0;
  for (auto chunk = client.read_chunk(); chunk && !chunk->empty(); chunk = client.read_chunk()) {
    received += chunk->size();
  }
  writer.join();
  EXPECT_EQ(received, kTotal);
}

TEST_F(HttpsTest, HoldsHundredsOfIdleStreams) {
  constexpr std::size_t kStreams = 500;
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4096);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  std::mutex mutex;
  std::vector<std::shared_ptr<Feed>> feeds;
  api.on("/watch", [&](const net::Request&) {
    auto feed = std::make_shared<Feed>();
    net::Response response;
    response.stream = Feed::open(feed);
    const std::lock_guard lock(mutex);
    feeds.push_back(std::move(feed));
    return response;
  });
  start();
  std::vector<std::unique_ptr<net::TlsClient>> clients;
  for (std::size_t i = 0; i < kStreams; ++i) {
    clients.push_back(std::make_unique<net::TlsClient>(port));
    ASSERT_TRUE(clients.back()->send(kWatch));
    ASSERT_EQ(clients.back()->read_head().status, 200);
  }
  EXPECT_EQ(net::TlsClient(port).get("/other").status, 200);
  for (const auto& feed : feeds) {
    feed->add("event\n");
  }
  for (const auto& client : clients) {
    EXPECT_EQ(client->read_chunk(), "event\n");
  }
  server->stop(std::chrono::milliseconds(0));
  for (const auto& feed : feeds) {
    EXPECT_TRUE(feed->wait_until_gone());
  }
}

TEST_F(HttpsTest, ClosesWatchesCleanlyThatEndDuringStop) {
  auto feed = std::make_shared<Feed>();
  api.on("/watch", streaming(feed));
  start();
  net::TlsClient client(port);
  ASSERT_TRUE(client.send(kWatch));
  ASSERT_EQ(client.read_head().status, 200);
  std::thread stopper([&] { server->stop(std::chrono::seconds(20)); });
  feed->end();  // as Server::begin_shutdown() does
  EXPECT_EQ(client.read_chunk(), "");
  EXPECT_TRUE(client.at_end());
  stopper.join();
}

}  // namespace
}  // namespace athanor::transport::https_stream_test
