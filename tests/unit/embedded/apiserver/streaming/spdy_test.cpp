// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/streaming/spdy.hpp"

#include <chrono>
#include <random>

#include "embedded/apiserver/streaming/tunnels.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/apiserver/streaming/fake_session.hpp"

namespace athanor::apiserver::spdy_test {
namespace {

using test::FakeSession;
using test::number;
using test::SessionLog;
using test::SpdyClient;

TEST(Spdy, ReadsStreamsHoweverTheyArrive) {
  SpdyClient client;
  const std::string bytes = client.open_all({{1, {{"streamtype", "error"}}},
                                             {3, {{"StreamType", "stdin"}, {"port", "80"}}}}) +
                            SpdyClient::data(3, "hello", true);
  for (const std::size_t step : {std::size_t{1}, bytes.size()}) {
    SpdyConnection spdy;
    std::vector<SpdyEvent> events;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      spdy.feed(std::string_view(bytes).substr(at, step));
      while (auto event = spdy.next()) {
        events.push_back(*std::move(event));
      }
    }
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(events[0].headers.at("streamtype"), "error");
    EXPECT_EQ(events[1].headers.at("streamtype"), "stdin");
    EXPECT_EQ(events[1].headers.at("port"), "80");
    EXPECT_EQ(events[2].stream, 3U);
    EXPECT_EQ(events[2].data, "hello");
    EXPECT_TRUE(events[2].last);
  }
}

TEST(Spdy, AnswersPingsAndWritesData) {
  SpdyConnection spdy;
  spdy.feed(SpdyClient::control(6, 0, number(7, 4)));
  EXPECT_EQ(spdy.take_output(), SpdyClient::control(6, 0, number(7, 4)));
  spdy.send(5, "abc", false);
  spdy.send(5, "", true);
  EXPECT_EQ(spdy.take_output(), SpdyClient::data(5, "abc", false) + SpdyClient::data(5, "", true));
}

TEST(Spdy, EndsAtNonsense) {
  SpdyClient client;
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), SpdyClient::control(7, 0, number(0, 8)),
        number(0x80020001U, 4) + number(0, 4),                      // version 2
        SpdyClient::control(1, 0, number(1, 10) + "no zlib here"),  // headers
        number(1, 4) + number(0, 1) + number(0xFFFFFF, 3)}) {       // 16 MiB
    SpdyConnection spdy;
    spdy.feed(bytes);
    EXPECT_TRUE(spdy.ended());
  }
}

// 64 KiB of headers are enough for anybody: a bomb of zeros is refused.
TEST(Spdy, HeadersAreBounded) {
  SpdyClient client;
  SpdyConnection spdy;
  spdy.feed(client.open(1, {{"streamtype", std::string(1'000'000, 'x')}}));
  EXPECT_TRUE(spdy.ended());
}

// Whatever arrives: no crash, and no memory beyond a frame's.
TEST(Spdy, SurvivesDamage) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    SpdyClient client;
    std::string bytes =
        client.open_all({{1, {{"streamtype", "error"}}}, {3, {{"streamtype", "stdin"}}}}) +
        SpdyClient::data(3, std::string(100, 'x'), true);
    for (int i = 0; i < 3; ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    SpdyConnection spdy;
    spdy.feed(bytes);
    while (spdy.next()) {
    }
    EXPECT_LT(spdy.take_output().size(), std::size_t{10'000});
  }
}

TEST(Spdy, ReadsManySmallFramesInLinearTime) {
  std::string bytes;
  for (int i = 0; i < 500'000; ++i) {
    bytes += SpdyClient::control(9, 0, "");  // a window update that says nothing
  }
  SpdyConnection spdy;
  const auto began = std::chrono::steady_clock::now();
  spdy.feed(bytes);
  EXPECT_FALSE(spdy.ended());
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

// Each ping has a number and is answered; a client that does not read is not read either.
TEST(Spdy, UnreadPingAnswersStopTheClient) {
  const auto log = std::make_shared<SessionLog>();
  const ExecOptions options{.container = "c", .command = {"x"}, .input = true};
  const auto dial = [&](std::uint16_t) -> Result<std::unique_ptr<PodSession>> {
    return std::unique_ptr<PodSession>(std::make_unique<FakeSession>(log));
  };
  std::vector<std::unique_ptr<Tunnel>> tunnels;
  tunnels.push_back(spdy_exec(std::make_unique<FakeSession>(log), options));
  tunnels.push_back(spdy_ports(dial));
  for (const auto& tunnel : tunnels) {
    std::size_t sent = 0;
    while (tunnel->wants_more() && sent < 1'000'000) {
      tunnel->feed(SpdyClient::control(6, 0, number(7, 4)));
      sent += 12;
    }
    EXPECT_LT(sent, 100'000U);
    std::string out;
    EXPECT_EQ(tunnel->pull(out), Stream::State::Open);
    EXPECT_EQ(out.size(), sent) << "every one was answered";
    EXPECT_TRUE(tunnel->wants_more());
  }
}

TEST(Spdy, APingHasFourBytes) {
  SpdyConnection spdy;
  spdy.feed(SpdyClient::control(6, 0, std::string(1000, 'x')));
  EXPECT_TRUE(spdy.ended());
  EXPECT_FALSE(spdy.has_output());
}

// What comes at once is handed over at once: of sizes the last, of input all.
TEST(SpdyExec, SizesAndInputAreHandedOverTogether) {
  const auto log = std::make_shared<SessionLog>();
  SpdyClient client;
  const auto tunnel = spdy_exec(
      std::make_unique<FakeSession>(log),
      {.container = "c", .command = {"x"}, .input = true, .output = true, .terminal = true});
  std::string bytes =
      client.open_all({{1, {{"streamtype", "stdin"}}}, {3, {{"streamtype", "resize"}}}});
  for (int i = 1; i <= 1000; ++i) {
    bytes += SpdyClient::data(1, "x", false) +
             SpdyClient::data(3, "{\"Width\":" + std::to_string(i) + ",\"Height\":24}\n", false);
  }
  tunnel->feed(bytes);
  EXPECT_EQ(log->input, std::string(1000, 'x'));
  EXPECT_EQ(log->writes, 1);
  EXPECT_EQ(log->sizes, (std::vector<std::pair<unsigned, unsigned>>{{1000, 24}}));
}

TEST(SpdyExec, ReadsSizesInAnyLetterCase) {
  const auto log = std::make_shared<SessionLog>();
  FakeSession session(log);
  apply_resize(session, R"({"height":24,"width":80})");
  apply_resize(session, R"({"HEIGHT":25,"Width":81})");
  apply_resize(session, R"({"Height":0,"Width":81})");
  apply_resize(session, R"({"Width":82})");
  apply_resize(session, "[]");
  EXPECT_EQ(log->sizes, (std::vector<std::pair<unsigned, unsigned>>{{80, 24}, {81, 25}}));
}

TEST(SpdyPorts, NamesOfConnectionsAreBounded) {
  int dialled = 0;
  const auto tunnel = spdy_ports([&](std::uint16_t) -> Result<std::unique_ptr<PodSession>> {
    ++dialled;
    return std::unique_ptr<PodSession>(
        std::make_unique<FakeSession>(std::make_shared<SessionLog>()));
  });
  SpdyClient client;
  tunnel->feed(client.open_all(
      {{1, {{"streamtype", "data"}, {"port", "80"}, {"requestid", std::string(257, 'x')}}},
       {3, {{"streamtype", "data"}, {"port", "80"}, {"requestid", "0"}}},
       {5, {{"streamtype", "data"}, {"port", "80"}, {"requestid", "0"}}}}));
  EXPECT_EQ(dialled, 1) << "the name is too long, and taken";
}

TEST(SpdyExec, CarriesACommand) {
  const auto log = std::make_shared<SessionLog>();
  SpdyClient client;
  const auto tunnel =
      spdy_exec(std::make_unique<FakeSession>(log),
                {.container = "c", .command = {"x"}, .input = true, .output = true, .error = true});
  log->out = "early";
  tunnel->feed(client.open_all({{1, {{"streamtype", "error"}}},
                                {3, {{"streamtype", "stdin"}}},
                                {5, {{"streamtype", "stdout"}}}}));
  std::string out;
  EXPECT_EQ(tunnel->pull(out), Stream::State::Open);
  EXPECT_EQ(log->out, "early") << "not taken before every stream is open";
  tunnel->feed(client.open_all({{7, {{"streamtype", "stderr"}}}, {9, {{"streamtype", "resize"}}}}) +
               SpdyClient::data(3, "in", false) + SpdyClient::data(3, "put", true) +
               SpdyClient::data(9, "{\"Width\":80,\"Height\":24}\n", false));
  EXPECT_EQ(log->input, "input");
  EXPECT_TRUE(log->input_closed);
  EXPECT_EQ(log->sizes, (std::vector<std::pair<unsigned, unsigned>>{{80, 24}}));
  out.clear();
  EXPECT_EQ(tunnel->pull(out), Stream::State::Open);
  EXPECT_TRUE(out.ends_with(SpdyClient::data(5, "early", false)));
  log->err = "oops";
  log->exit_code = 3;
  out.clear();
  EXPECT_EQ(tunnel->pull(out), Stream::State::Ended);
  EXPECT_TRUE(out.starts_with(SpdyClient::data(7, "oops", false)));
  EXPECT_NE(out.find("NonZeroExitCode"), std::string::npos);
  EXPECT_TRUE(out.ends_with(SpdyClient::data(5, "", true) + SpdyClient::data(7, "", true)));
}

TEST(SpdyPorts, PairStreamsByRequest) {
  auto log = std::make_shared<SessionLog>();
  std::vector<std::uint16_t> dialled;
  const auto tunnel = spdy_ports([&](std::uint16_t port) -> Result<std::unique_ptr<PodSession>> {
    dialled.push_back(port);
    if (port == 1) {
      return Error::internal("connect: Connection refused");
    }
    return std::unique_ptr<PodSession>(std::make_unique<FakeSession>(log));
  });
  SpdyClient client;
  tunnel->feed(
      client.open_all({{1, {{"streamtype", "error"}, {"port", "80"}, {"requestid", "0"}}},
                       {3, {{"streamtype", "data"}, {"port", "80"}, {"requestid", "0"}}}}) +
      SpdyClient::data(1, "", true) + SpdyClient::data(3, "GET", false));
  tunnel->feed(client.open_all({{5, {{"streamtype", "error"}, {"port", "1"}, {"requestid", "1"}}},
                                {7, {{"streamtype", "data"}, {"port", "1"}, {"requestid", "1"}}}}));
  EXPECT_EQ(dialled, (std::vector<std::uint16_t>{80, 1}));
  EXPECT_EQ(log->input, "GET");
  std::string out;
  EXPECT_EQ(tunnel->pull(out), Stream::State::Open);
  EXPECT_NE(out.find("Connection refused"), std::string::npos);
  log->unread = std::size_t{2} << 20;
  EXPECT_FALSE(tunnel->wants_more());
  log->unread = 0;
  EXPECT_TRUE(tunnel->wants_more());
  log->out = "answer";
  log->exit_code = 0;
  out.clear();
  EXPECT_EQ(tunnel->pull(out), Stream::State::Open);
  EXPECT_EQ(out, SpdyClient::data(3, "answer", false) + SpdyClient::data(1, "", true) +
                     SpdyClient::data(3, "", true));
  EXPECT_TRUE(log->gone);
}

TEST(SpdyPorts, AResetGivesTheConnectionUp) {
  auto log = std::make_shared<SessionLog>();
  const auto tunnel = spdy_ports([&](std::uint16_t) -> Result<std::unique_ptr<PodSession>> {
    return std::unique_ptr<PodSession>(std::make_unique<FakeSession>(log));
  });
  SpdyClient client;
  tunnel->feed(client.open(1, {{"streamtype", "data"}, {"port", "80"}, {"requestid", "0"}}));
  EXPECT_FALSE(log->gone);
  tunnel->feed(SpdyClient::control(3, 0, number(1, 4) + number(5, 4)));
  EXPECT_TRUE(log->gone);
}

TEST(ExitStatus, MatchesFormatOfClients) {
  EXPECT_EQ(
      *json::parse(exit_status({.out = {}, .err = {}, .exit_code = 0, .failure = {}})),
      *json::parse(R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"})"));
  const Value failed =
      *json::parse(exit_status({.out = {}, .err = {}, .exit_code = 42, .failure = {}}));
  EXPECT_EQ(failed["status"].as_string(), "Failure");
  EXPECT_EQ(failed["reason"].as_string(), "NonZeroExitCode");
  EXPECT_EQ(failed["details"]["causes"][0]["reason"].as_string(), "ExitCode");
  EXPECT_EQ(failed["details"]["causes"][0]["message"].as_string(), "42");
}

}  // namespace
}  // namespace athanor::apiserver::spdy_test
