// SPDX-License-Identifier: Apache-2.0
// The session against a client of nghttp2's, bytes in memory.
#include "net/http2_session.hpp"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <map>
#include <set>
#include <vector>

#include "net/paced_stream.hpp"

namespace athanor::transport {
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
class ScriptStream final : public apiserver::Stream {
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
                                        apiserver::Request request) { requests[stream] = request; },
                      .waker = [](std::int32_t) { return [] {}; },
                      .gone = [this](std::int32_t stream) { gone.insert(stream); },
                      .date = [] { return std::string("today"); },
                      .takes_body = [this](const apiserver::Request&) { return known; }});
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
    apiserver::Response response;
    response.body = body;
    response.headers.emplace_back("Audit-Id", "a");
    server().respond(stream, response);
  }

  Http2Limits limits{};
  bool known = true;  // who sends large bodies
  std::map<std::int32_t, apiserver::Request> requests{};
  std::set<std::int32_t> gone{};
  Http2Session::Time now{seconds(1000)};

 private:
  std::unique_ptr<Http2Session> session_{};
};

TEST_F(Http2Test, TellsOfRequestsThatAreGivenUp) {
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
  struct Paced final : apiserver::PacedStream {
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
  apiserver::Response response;
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
  apiserver::Response response;
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
TEST_F(Http2Test, AStreamNobodyReadsIsBoundedAndCut) {
  Client client(10);
  const auto id = client.request("GET", "/watch");
  exchange(client);
  const auto script = std::make_shared<Script>();
  apiserver::Response response;
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

// Heads of requests that never end are kept as bodies are.
TEST_F(Http2Test, HeadsOfUnfinishedRequestsAreBounded) {
  limits.buffered_bytes = 50'000;
  Client client;
  const std::string body(10, 'x');
  std::vector<std::int32_t> streams;
  for (int i = 0; i < 10; ++i) {
    streams.push_back(client.request("POST", "/p", {{"x", std::string(9000, 'x')}}, &body));
  }
  // All heads, and no body: nghttp2 sends the heads first.
  const std::uint8_t* data = nullptr;
  std::string ends;
  for (auto size = nghttp2_session_mem_send(client.session, &data); size > 0;
       size = nghttp2_session_mem_send(client.session, &data)) {
    const std::string bytes = Client::text(data, static_cast<std::size_t>(size));
    const bool is_data = bytes.size() > 3 && bytes[3] == 0;
    if (is_data) {
      ends += bytes;
    } else {
      ASSERT_TRUE(server().feed(bytes, now));
    }
  }
  ASSERT_TRUE(server().feed(ends, now));
  exchange(client);
  std::size_t refused = 0;
  for (const std::int32_t id : streams) {
    refused += client.seen[id].headers[":status"] == "429" ? 1U : 0U;
  }
  EXPECT_GE(refused, 4U);
  EXPECT_EQ(refused + requests.size(), streams.size());
}

// CVE-2025-8671: frames that break the rules make the server reset its own streams.
TEST_F(Http2Test, ProvokedResetsEndTheConnection) {
  Client client;
  bool fine = true;
  int opened = 0;
  while (fine && opened < 1000) {
    const auto id = client.request("GET", "/p");
    fine = exchange(client);
    // A window that grows beyond 2^31-1, twice: the server resets the stream.
    std::string frame("\0\0\x04\x08\0", 5);
    for (int shift = 24; shift >= 0; shift -= 8) {
      frame += static_cast<char>((static_cast<std::uint32_t>(id) >> shift) & 0xFFU);
    }
    frame += std::string("\x7f\xff\xff\xff", 4);
    fine = server().feed(frame, now) && fine;
    fine = exchange(client) && fine;
    ++opened;
  }
  EXPECT_FALSE(fine);
  EXPECT_LE(opened, 250);
}

TEST_F(Http2Test, AnswersThatNobodyTakesAreBounded) {
  limits.unread_bytes = 1'000'000;
  Client client(0);
  std::vector<std::int32_t> streams;
  for (int i = 0; i < 10; ++i) {
    streams.push_back(client.request("GET", "/p"));
  }
  exchange(client);
  for (const std::int32_t id : streams) {
    answer(id, std::string(300'000, 'x'));
  }
  exchange(client);
  int refused = 0;
  for (const std::int32_t id : streams) {
    refused += client.seen[id].headers[":status"] == "429" ? 1 : 0;
  }
  EXPECT_EQ(refused, 7);
}

TEST_F(Http2Test, LargeBodiesOfStrangersAreRefused) {
  limits.unknown_body = 1000;
  known = false;
  Client client;
  const std::string large(5000, 'x');
  const std::string small(500, 'x');
  const auto refused = client.request("POST", "/p", {}, &large);
  const auto taken = client.request("POST", "/p", {}, &small);
  exchange(client);
  EXPECT_EQ(client.seen[refused].headers[":status"], "401");
  EXPECT_TRUE(requests.contains(taken));
  known = true;
  const auto again = client.request("POST", "/p", {}, &large);
  exchange(client);
  EXPECT_TRUE(requests.contains(again));
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
}  // namespace athanor::transport
