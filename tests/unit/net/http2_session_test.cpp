// SPDX-License-Identifier: Apache-2.0
// The session against a client of nghttp2's, bytes in memory.
#include "net/http2_session.hpp"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <map>
#include <set>
#include <vector>

#include "net/paced_stream.hpp"

namespace athanor::net::http2_session_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// One answer as the client sees it.
struct Seen {
  std::map<std::string, std::string> headers{};
  std::string body{};
  bool ended = false;
  std::uint32_t reset = 0;  // error code of a reset
};

class Client {
 public:
  explicit Client(std::uint32_t window = 65535) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                      std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                      std::uint8_t, void* user) {
          static_cast<Client*>(user)->seen[frame->hd.stream_id].headers[text(name, name_size)] =
              text(value, value_size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                      std::size_t size, void* user) {
          static_cast<Client*>(user)->seen[id].body += text(data, size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
          auto& self = *static_cast<Client*>(user);
          if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
              (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
            self.seen[frame->hd.stream_id].ended = true;
          } else if (frame->hd.type == NGHTTP2_RST_STREAM) {
            self.seen[frame->hd.stream_id].reset = frame->rst_stream.error_code;
          } else if (frame->hd.type == NGHTTP2_GOAWAY) {
            self.goaway = frame->goaway.error_code;
          }
          return 0;
        });
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_session_client_new2(&session, callbacks, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &settings, 1);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { nghttp2_session_del(session); }

  std::int32_t request(const std::string& method, const std::string& path,
                       std::vector<std::pair<std::string, std::string>> more = {},
                       const std::string* body = nullptr) {
    std::vector<std::pair<std::string, std::string>> fields = {
        {":method", method}, {":scheme", "https"}, {":path", path}, {":authority", "lab"}};
    fields.insert(fields.end(), more.begin(), more.end());
    std::vector<nghttp2_nv> table;
    for (auto& [name, value] : fields) {
      table.push_back({reinterpret_cast<std::uint8_t*>(name.data()),
                       reinterpret_cast<std::uint8_t*>(value.data()), name.size(), value.size(),
                       NGHTTP2_NV_FLAG_NONE});
    }
    nghttp2_data_provider provider{};
    provider.source.ptr = const_cast<std::string*>(body);
    provider.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t* buffer,
                                std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                                void* user) -> ssize_t {
      const auto& text = *static_cast<const std::string*>(source->ptr);
      std::size_t& done = static_cast<Client*>(user)->sent[id];
      const std::size_t count = std::min(size, text.size() - done);
      std::copy_n(text.data() + done, count, buffer);
      done += count;
      if (done == text.size()) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
      }
      return static_cast<ssize_t>(count);
    };
    return nghttp2_submit_request(session, nullptr, table.data(), table.size(),
                                  body == nullptr ? nullptr : &provider, nullptr);
  }

  static std::string text(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
  }

  nghttp2_session* session = nullptr;
  std::map<std::int32_t, Seen> seen{};
  std::map<std::int32_t, std::size_t> sent{};
  std::optional<std::uint32_t> goaway{};
};

// A stream that a test feeds.
struct Script {
  std::string pending{};
  bool ended = false;
  std::size_t pulls = 0;
  bool gone = false;
};
class ScriptStream final : public net::Stream {
 public:
  explicit ScriptStream(std::shared_ptr<Script> script) : script_(std::move(script)) {}
  ScriptStream(const ScriptStream&) = delete;
  ScriptStream& operator=(const ScriptStream&) = delete;
  ~ScriptStream() override { script_->gone = true; }
  State pull(std::string& out) override {
    ++script_->pulls;
    out += std::exchange(script_->pending, {});
    return script_->ended ? State::Ended : State::Open;
  }
  void on_ready(std::function<void()> /*wake*/) override {}

 private:
  std::shared_ptr<Script> script_;
};

class Http2Test : public ::testing::Test {
 protected:
  Http2Session& server() {
    if (!session_) {
      session_ = std::make_unique<Http2Session>(
          limits, Http2Session::Callbacks{
                      .request = [this](std::int32_t stream,
                                        net::Request request) { requests[stream] = request; },
                      .screen =
                          [this](std::int32_t stream, net::Request head, std::size_t body) {
                            screenings[stream] = {head.path, body};
                          },
                      .may_hold = [this](std::size_t more) { return more <= room; },
                      .waker = [](std::int32_t) { return [] {}; },
                      .gone = [this](std::int32_t stream) { gone.insert(stream); },
                      .date = [] { return std::string("today"); }});
    }
    return *session_;
  }
  // Bytes both ways until nobody has any. False when the server gave up.
  bool exchange(Client& client) {
    bool fine = true;
    for (bool moved = true; moved;) {
      moved = false;
      const std::uint8_t* data = nullptr;
      for (auto size = nghttp2_session_mem_send(client.session, &data); size > 0;
           size = nghttp2_session_mem_send(client.session, &data)) {
        fine = server().feed(Client::text(data, static_cast<std::size_t>(size)), now) && fine;
        moved = true;
      }
      std::string out;
      if (server().take_output(out, 1'000'000)) {
        moved = true;
        EXPECT_GE(
            nghttp2_session_mem_recv(client.session,
                                     reinterpret_cast<const std::uint8_t*>(out.data()), out.size()),
            0);
      }
    }
    return fine;
  }
  void answer(std::int32_t stream, const std::string& body) {
    net::Response response;
    response.body = body;
    response.headers.emplace_back("Audit-Id", "a");
    server().respond(stream, response);
  }

  Http2Limits limits{};
  std::size_t room = std::size_t{1} << 30;  // for answers
  std::map<std::int32_t, std::pair<std::string, std::size_t>> screenings{};
  std::map<std::int32_t, net::Request> requests{};
  std::set<std::int32_t> gone{};
  Http2Session::Time now{seconds(1000)};

 private:
  std::unique_ptr<Http2Session> session_{};
};

TEST_F(Http2Test, SendsTrailersBehindTheBody) {
  Client client;
  const auto stream = client.request("POST", "/call");
  ASSERT_TRUE(exchange(client));
  net::Response response;
  response.body = std::string(100'000, 'b');  // more than a window
  response.trailers = {{"grpc-status", "0"}, {"grpc-message", "fine"}};
  server().respond(stream, response);
  const auto empty = client.request("POST", "/empty");
  ASSERT_TRUE(exchange(client));
  net::Response bodiless;
  bodiless.trailers = {{"grpc-status", "5"}};
  server().respond(empty, bodiless);
  nghttp2_session_consume(client.session, stream, 65535);
  ASSERT_TRUE(exchange(client));
  EXPECT_EQ(client.seen[stream].body.size(), 100'000U);
  EXPECT_EQ(client.seen[stream].headers["grpc-status"], "0");
  EXPECT_FALSE(client.seen[stream].headers.contains("content-length"));
  EXPECT_TRUE(client.seen[stream].ended);
  EXPECT_EQ(client.seen[empty].headers["grpc-status"], "5");
  EXPECT_TRUE(client.seen[empty].ended);
}

TEST_F(Http2Test, ReportsCancelledRequests) {
  Client client;
  const auto kept = client.request("GET", "/kept");
  const auto left = client.request("GET", "/left");
  exchange(client);
  EXPECT_TRUE(gone.empty());
  nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, left, NGHTTP2_CANCEL);
  exchange(client);
  EXPECT_EQ(gone, std::set<std::int32_t>{left});
  answer(kept, "x");
  exchange(client);
  EXPECT_TRUE(gone.contains(kept));
}

// One who reads no logs is let be; they wait in their files.
TEST_F(Http2Test, StreamsThatCanWaitDo) {
  struct Paced final : net::PacedStream {
    State pull(std::string& out) override {
      out += "line";
      return State::Open;
    }
    void on_ready(std::function<void()> /*wake*/) override {}
  };
  limits.progress_timeout = std::chrono::milliseconds(100);
  Client client(1'000);
  const auto log = client.request("GET", "/log");
  exchange(client);
  net::Response response;
  response.stream = std::make_unique<Paced>();
  server().respond(log, response);
  exchange(client);
  now += seconds(1000);
  server().check_time(now);
  exchange(client);
  EXPECT_FALSE(gone.contains(log));
}

TEST_F(Http2Test, CarriesRequestsAndAnswers) {
  Client client;
  const std::string body = "{\"a\":1}";
  const auto get = client.request("GET", "/api/a%2Fb?watch=1&x=%20",
                                  {{"accept", "a,b"},
                                   {"accept", "c"},
                                   {"host", "other"},
                                   {"cookie", "d=1"},
                                   {"cookie", "e=2"}});
  const auto post = client.request("POST", "/p", {}, &body);
  exchange(client);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[get].method, "GET");
  EXPECT_EQ(requests[get].path, "/api/a%2Fb");
  EXPECT_EQ(requests[get].parameter("x"), " ");
  EXPECT_EQ(requests[get].header_values("accept"), (std::vector<std::string_view>{"a,b", "c"}));
  EXPECT_EQ(requests[get].header("cookie"), "d=1; e=2");
  EXPECT_EQ(requests[get].header_values("host"), (std::vector<std::string_view>{"lab"}));
  EXPECT_EQ(std::get<std::string>(requests[post].body), body);
  answer(post, "second first");
  answer(get, std::string(30'000, 'x'));
  exchange(client);
  EXPECT_EQ(client.seen[post].headers[":status"], "200");
  EXPECT_EQ(client.seen[post].headers["audit-id"], "a");
  EXPECT_EQ(client.seen[post].headers["content-length"], "12");
  EXPECT_EQ(client.seen[post].headers["date"], "today");
  EXPECT_EQ(client.seen[post].body, "second first");
  EXPECT_EQ(client.seen[get].body.size(), 30'000U);
  EXPECT_TRUE(client.seen[get].ended);
  EXPECT_TRUE(server().idle());
}

TEST_F(Http2Test, HeadHasNoBody) {
  Client client;
  const auto id = client.request("HEAD", "/p");
  exchange(client);
  answer(id, "not sent");
  exchange(client);
  EXPECT_EQ(client.seen[id].headers["content-length"], "8");
  EXPECT_TRUE(client.seen[id].ended);
  EXPECT_EQ(client.seen[id].body, "");
}

TEST_F(Http2Test, StreamsGoOnWhenWoken) {
  Client client;
  const auto id = client.request("GET", "/watch");
  exchange(client);
  const auto script = std::make_shared<Script>();
  net::Response response;
  response.stream = std::make_unique<ScriptStream>(script);
  server().respond(id, response);
  exchange(client);
  EXPECT_EQ(client.seen[id].headers[":status"], "200");
  script->pending = "one\n";
  exchange(client);
  EXPECT_EQ(client.seen[id].body, "");
  server().wake(id);
  exchange(client);
  EXPECT_EQ(client.seen[id].body, "one\n");
  EXPECT_FALSE(client.seen[id].ended);
  now += seconds(1000);
  server().check_time(now);
  exchange(client);
  EXPECT_FALSE(script->gone) << "an idle watch is no fault";
  script->ended = true;
  server().wake(id);
  exchange(client);
  EXPECT_TRUE(client.seen[id].ended);
  EXPECT_TRUE(script->gone);
}

// A watcher that opens no window is not read for, and in the end cut; others go on.
TEST_F(Http2Test, BoundsAndEndsUnreadStream) {
  Client client(10);
  const auto id = client.request("GET", "/watch");
  exchange(client);
  const auto script = std::make_shared<Script>();
  net::Response response;
  response.stream = std::make_unique<ScriptStream>(script);
  server().respond(id, response);
  script->pending = std::string(1000, 'x');
  exchange(client);
  EXPECT_EQ(client.seen[id].body.size(), 10U);
  const std::size_t pulls = script->pulls;
  script->pending = std::string(1000, 'y');
  server().wake(id);
  exchange(client);
  EXPECT_EQ(script->pulls, pulls);
  const auto other = client.request("GET", "/p");
  exchange(client);
  answer(other, "fine");
  exchange(client);
  now += seconds(61);
  server().check_time(now);
  exchange(client);
  EXPECT_TRUE(script->gone);
  EXPECT_EQ(client.seen[id].reset, static_cast<std::uint32_t>(NGHTTP2_CANCEL));
  EXPECT_EQ(client.seen[other].body, "fine");
}

TEST_F(Http2Test, LimitsOfARequest) {
  limits.header_bytes = 4000;
  limits.body_bytes = 1000;
  limits.buffered_bytes = 1500;
  Client client;
  const std::string large(2000, 'x');
  const auto headers = client.request("GET", "/p", {{"x", std::string(5000, 'x')}});
  const auto body = client.request("POST", "/p", {}, &large);
  exchange(client);
  EXPECT_TRUE(requests.empty());
  EXPECT_EQ(client.seen[headers].headers[":status"], "431");
  EXPECT_EQ(client.seen[body].headers[":status"], "413");
  EXPECT_NE(client.seen[body].body.find("RequestEntityTooLarge"), std::string::npos);
  const auto bad = client.request("GET", "/%zz");
  exchange(client);
  EXPECT_EQ(client.seen[bad].headers[":status"], "400");
}

TEST_F(Http2Test, RequestsThatNeverEndAreGivenUp) {
  Client client;
  std::string body(100, 'x');
  const auto id = client.request("POST", "/p", {}, &body);
  // The end never comes: the client stops in the middle.
  const std::uint8_t* data = nullptr;
  std::string bytes;
  for (auto size = nghttp2_session_mem_send(client.session, &data); size > 0;
       size = nghttp2_session_mem_send(client.session, &data)) {
    bytes += Client::text(data, static_cast<std::size_t>(size));
  }
  ASSERT_TRUE(server().feed(std::string_view(bytes).substr(0, bytes.size() - 50), now));
  EXPECT_FALSE(server().idle());
  now += seconds(121);
  server().check_time(now);
  std::string out;
  server().take_output(out, 1'000'000);
  EXPECT_TRUE(server().idle()) << id;
}

// CVE-2023-44487.
TEST_F(Http2Test, RapidResetsEndTheConnection) {
  Client client;
  bool fine = true;
  int opened = 0;
  while (fine && opened < 1000) {
    const auto id = client.request("GET", "/p");
    fine = exchange(client);
    nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    fine = exchange(client) && fine;
    ++opened;
  }
  EXPECT_FALSE(fine);
  EXPECT_LE(opened, 250);
  ASSERT_TRUE(client.goaway);
  EXPECT_EQ(*client.goaway, static_cast<std::uint32_t>(NGHTTP2_ENHANCE_YOUR_CALM));
}

// A client that gives up a watch now and then goes on for ever.
TEST_F(Http2Test, ResetsInModerationAreForgiven) {
  Client client;
  for (int i = 0; i < 1000; ++i) {
    const auto id = client.request("GET", "/p");
    ASSERT_TRUE(exchange(client));
    nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    ASSERT_TRUE(exchange(client));
    now += milliseconds(100);
  }
}

// A frame of four bytes that breaks a rule of one stream: a window beyond the largest.
std::string bad_window_update(std::int32_t stream) {
  std::string frame("\x00\x00\x04\x08\x00", 5);
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame += static_cast<char>((stream >> shift) & 0xFF);
  }
  return frame + "\x7f\xff\xff\xff";
}

// CVE-2025-8671: the client makes the server reset its own requests.
TEST_F(Http2Test, ProvokedResetsEndTheConnection) {
  Client client;
  bool fine = true;
  int opened = 0;
  while (fine && opened < 1000) {
    const auto id = client.request("GET", "/p");
    fine = exchange(client) && server().feed(bad_window_update(id), now);
    std::string out;
    server().take_output(out, 1'000'000);  // the client does not look
    ++opened;
  }
  EXPECT_FALSE(fine);
  EXPECT_LE(opened, 250);
}

TEST_F(Http2Test, UnreadResetsEndTheConnection) {
  // GET / with END_STREAM and END_HEADERS, by the tables' numbers.
  const std::string fields = "\x82\x87\x84\x01\x01" + std::string("a");
  ASSERT_TRUE(server().feed(
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\x00\x00\x00\x04\x00\x00\x00\x00\x00", 9),
      now));
  bool fine = true;
  int opened = 0;
  for (std::int32_t id = 1; fine && opened < 1000; id += 2) {
    std::string request("\x00\x00\x06\x01\x05\x00\x00", 7);
    request += static_cast<char>(id >> 8);
    request += static_cast<char>(id & 0xFF);
    fine = server().feed(request + fields + bad_window_update(id), now);
    ++opened;
  }
  EXPECT_FALSE(fine);
  EXPECT_GE(opened, 100);
  EXPECT_LE(opened, 250);
}

// Pings are answered; a client that reads no answer is left.
TEST_F(Http2Test, UnreadPingAnswersEndTheConnection) {
  Client client;
  exchange(client);
  const std::string ping = std::string("\x00\x00\x08\x06\x00\x00\x00\x00\x00", 9) + "12345678";
  bool fine = true;
  int sent = 0;
  for (; fine && sent < 100'000; ++sent) {
    fine = server().feed(ping, now);
  }
  EXPECT_FALSE(fine);
  EXPECT_LE(sent, 5000);
}

// A byte of HPACK stands for a field of thousands: what requests hold is bounded, whether or not
// they end.
TEST_F(Http2Test, HeaderListsCount) {
  limits.buffered_bytes = 100'000;
  Client client;
  const std::string body = "x";
  std::vector<std::pair<std::string, std::string>> fields;
  for (int i = 0; i < 10; ++i) {
    fields.emplace_back("x-large", std::string(3000, 'x'));
  }
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 10; ++i) {
    ids.push_back(client.request("POST", "/p", fields, i % 2 == 0 ? &body : nullptr));
  }
  exchange(client);
  EXPECT_LE(server().request_bytes(), limits.buffered_bytes);
  std::map<std::string, int> statuses;
  for (const auto id : ids) {
    ++statuses[client.seen[id].headers[":status"]];
  }
  EXPECT_EQ(statuses["429"], 7);
  EXPECT_EQ(requests.size(), 3U);
  for (const auto& [id, request] : requests) {
    answer(id, "done");
  }
  exchange(client);
  EXPECT_EQ(server().request_bytes(), 0U);
  const auto later = client.request("GET", "/p", fields);
  exchange(client);
  EXPECT_TRUE(requests.contains(later)) << "there is room again";
}

TEST_F(Http2Test, BodiesWaitUntilTheyAreScreened) {
  limits.unscreened_body = 10'000;
  Client client;
  const std::string body(500'000, 'x');
  const std::string small(5'000, 'x');
  const auto known = client.request("POST", "/known", {}, &body);
  const auto stranger =
      client.request("POST", "/secret", {{"content-length", std::to_string(body.size())}}, &body);
  const auto crowd = client.request("POST", "/crowd", {}, &body);
  const auto little = client.request("POST", "/little", {}, &small);
  exchange(client);
  EXPECT_EQ(requests.size(), 1U);
  EXPECT_TRUE(requests.contains(little));
  ASSERT_EQ(screenings.size(), 3U);
  EXPECT_EQ(screenings[stranger], std::pair(std::string("/secret"), body.size()));
  EXPECT_EQ(screenings[known].second, limits.body_bytes) << "its length is not told";
  EXPECT_LE(server().request_bytes(), 250'000U) << "a window each";
  server().screened(known, Http2Session::Verdict::Go);
  server().screened(stranger, Http2Session::Verdict::Refuse);
  server().screened(crowd, Http2Session::Verdict::Busy);
  exchange(client);
  ASSERT_TRUE(requests.contains(known));
  EXPECT_EQ(std::get<std::string>(requests[known].body), body);
  EXPECT_FALSE(requests[known].without_body);
  ASSERT_TRUE(requests.contains(stranger));
  EXPECT_EQ(std::get<std::string>(requests[stranger].body), "");
  EXPECT_TRUE(requests[stranger].without_body);
  EXPECT_FALSE(requests.contains(crowd));
  EXPECT_EQ(client.seen[crowd].headers[":status"], "429");
  answer(stranger, "no");
  exchange(client);
  EXPECT_EQ(client.seen[stranger].body, "no");
  EXPECT_TRUE(client.seen[stranger].ended);
}

TEST_F(Http2Test, CountsAnswersThatAreNotRead) {
  Client client(10);
  const auto first = client.request("GET", "/p");
  const auto second = client.request("GET", "/p");
  exchange(client);
  answer(first, std::string(1000, 'x'));
  answer(second, std::string(1000, 'x'));
  exchange(client);
  EXPECT_EQ(server().answer_bytes(), 1980U);
  nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, first, NGHTTP2_CANCEL);
  exchange(client);
  EXPECT_EQ(server().answer_bytes(), 990U);
  nghttp2_submit_window_update(client.session, NGHTTP2_FLAG_NONE, second, 2000);
  exchange(client);
  EXPECT_EQ(server().answer_bytes(), 0U);
  EXPECT_EQ(client.seen[second].body.size(), 1000U);
}

TEST_F(Http2Test, AStreamWithoutRoomIsReset) {
  Client client;
  const auto id = client.request("GET", "/watch");
  exchange(client);
  const auto script = std::make_shared<Script>();
  script->pending = std::string(1000, 'x');
  net::Response response;
  response.stream = std::make_unique<ScriptStream>(script);
  room = 999;
  server().respond(id, response);
  exchange(client);
  EXPECT_TRUE(script->gone);
  EXPECT_NE(client.seen[id].reset, 0U);
  EXPECT_EQ(server().answer_bytes(), 0U);
}

TEST_F(Http2Test, DrainsGracefully) {
  Client client;
  const auto id = client.request("GET", "/p");
  exchange(client);
  server().drain();
  exchange(client);
  EXPECT_TRUE(client.goaway);
  EXPECT_FALSE(server().over());
  answer(id, "still answered");
  exchange(client);
  EXPECT_EQ(client.seen[id].body, "still answered");
  EXPECT_TRUE(server().over());
}

TEST_F(Http2Test, NonsenseEndsIt) {
  EXPECT_FALSE(server().feed("GET / HTTP/1.1\r\n\r\n", now));
}

}  // namespace
}  // namespace athanor::net::http2_session_test
