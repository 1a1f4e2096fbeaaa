// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http2_client.hpp"

#include <nghttp2/nghttp2.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

#include "apiserver/tls_socket.hpp"

namespace athanor::bench {
namespace {

// As Go's client has them: a list of 74 MB must not wait for windows.
constexpr std::uint32_t kStreamWindow = std::uint32_t{4} << 20;
constexpr std::int32_t kConnectionWindow = std::int32_t{1} << 30;
constexpr std::size_t kBlock = std::size_t{32} << 10;
constexpr std::size_t kAhead = std::size_t{256} << 10;  // bytes to send that are made at a time

struct FreeSession {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
};
struct FreeCallbacks {
  void operator()(nghttp2_session_callbacks* callbacks) const {
    nghttp2_session_callbacks_del(callbacks);
  }
};

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): nghttp2 speaks unsigned bytes
  return {reinterpret_cast<const char*>(bytes), size};
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast,cppcoreguidelines-pro-type-const-cast)
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast,cppcoreguidelines-pro-type-const-cast)
}

}  // namespace

// One connection.
class Http2Client::Line {
 public:
  Line(TlsSocket socket, const Server& server)
      : socket_(std::move(socket)),
        authority_(server.host + ":" + server.port),
        authorization_("Bearer " + server.token) {
    begin();
  }

  Result<void> send(const Query& query, Handlers handlers);
  Result<void> flush();
  // Feeds what has come.
  Result<void> receive();
  [[nodiscard]] pollfd interest() const {
    const bool waits = !output_.empty();
    return {socket_.descriptor(), static_cast<short>(waits ? POLLIN | POLLOUT : POLLIN), 0};
  }

 private:
  struct Exchange {
    Handlers handlers{};
    std::string body{};
    std::size_t sent = 0;
    int status = 0;
  };

  void begin();
  static Exchange* exchange_of(nghttp2_session* session, std::int32_t id) {
    return static_cast<Exchange*>(nghttp2_session_get_stream_user_data(session, id));
  }
  static int on_header(nghttp2_session* session, const nghttp2_frame* frame,
                       const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                       std::size_t value_size, std::uint8_t flags, void* user);
  static int on_data(nghttp2_session* session, std::uint8_t flags, std::int32_t id,
                     const std::uint8_t* data, std::size_t size, void* user);
  static int on_close(nghttp2_session* session, std::int32_t id, std::uint32_t code, void* user);
  static ssize_t on_read(nghttp2_session* session, std::int32_t id, std::uint8_t* buffer,
                         std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                         void* user);

  TlsSocket socket_;
  const std::string authority_;
  const std::string authorization_;
  std::unique_ptr<nghttp2_session, FreeSession> session_{};
  std::map<std::int32_t, std::unique_ptr<Exchange>> exchanges_{};
  std::string output_{};
  std::array<char, kBlock> block_{};
};

void Http2Client::Line::begin() {
  nghttp2_session_callbacks* made = nullptr;
  nghttp2_session_callbacks_new(&made);
  const std::unique_ptr<nghttp2_session_callbacks, FreeCallbacks> table(made);
  nghttp2_session_callbacks_set_on_header_callback(made, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(made, on_close);
  nghttp2_session* raw = nullptr;
  nghttp2_session_client_new(&raw, made, this);
  session_.reset(raw);
  const std::array<nghttp2_settings_entry, 2> settings = {
      {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow}}};
  nghttp2_submit_settings(raw, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(raw, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

int Http2Client::Line::on_header(nghttp2_session* session, const nghttp2_frame* frame,
                                 const std::uint8_t* name, std::size_t name_size,
                                 const std::uint8_t* value, std::size_t value_size,
                                 std::uint8_t /*flags*/, void* /*user*/) {
  Exchange* exchange = exchange_of(session, frame->hd.stream_id);
  if (exchange != nullptr && text_of(name, name_size) == ":status") {
    const std::string_view text = text_of(value, value_size);
    std::from_chars(text.data(), text.data() + text.size(), exchange->status);
  }
  return 0;
}

int Http2Client::Line::on_data(nghttp2_session* session, std::uint8_t /*flags*/, std::int32_t id,
                               const std::uint8_t* data, std::size_t size, void* /*user*/) {
  Exchange* exchange = exchange_of(session, id);
  if (exchange != nullptr && exchange->handlers.data) {
    exchange->handlers.data(text_of(data, size));
  }
  return 0;
}

int Http2Client::Line::on_close(nghttp2_session* /*session*/, std::int32_t id,
                                std::uint32_t /*code*/, void* user) {
  auto& exchanges = static_cast<Line*>(user)->exchanges_;
  if (auto node = exchanges.extract(id); !node.empty()) {
    node.mapped()->handlers.ended(node.mapped()->status);
  }
  return 0;
}

ssize_t Http2Client::Line::on_read(nghttp2_session* /*session*/, std::int32_t /*id*/,
                                   std::uint8_t* buffer, std::size_t size, std::uint32_t* flags,
                                   nghttp2_data_source* source, void* /*user*/) {
  auto& exchange = *static_cast<Exchange*>(source->ptr);
  const std::size_t count = std::min(size, exchange.body.size() - exchange.sent);
  std::memcpy(buffer, exchange.body.data() + exchange.sent, count);
  exchange.sent += count;
  if (exchange.sent == exchange.body.size()) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
  }
  return static_cast<ssize_t>(count);
}

Result<void> Http2Client::Line::send(const Query& query, Handlers handlers) {
  auto exchange = std::make_unique<Exchange>();
  exchange->handlers = std::move(handlers);
  exchange->body = query.body;
  std::array<nghttp2_nv, 7> fields{};
  std::size_t count = 0;
  fields[count++] = field(":method", query.method);
  fields[count++] = field(":scheme", "https");
  fields[count++] = field(":authority", authority_);
  fields[count++] = field(":path", query.path);
  fields[count++] = field("authorization", authorization_);
  fields[count++] = field("accept", "application/json");
  if (!query.content_type.empty()) {
    fields[count++] = field("content-type", query.content_type);
  }
  nghttp2_data_provider provider{};
  provider.source.ptr = exchange.get();
  provider.read_callback = on_read;
  const std::int32_t id =
      nghttp2_submit_request(session_.get(), nullptr, fields.data(), count,
                             query.body.empty() ? nullptr : &provider, exchange.get());
  if (id < 0) {
    return Error::unavailable(std::string("HTTP/2: ") + nghttp2_strerror(id));
  }
  exchanges_.emplace(id, std::move(exchange));
  return {};
}

Result<void> Http2Client::Line::flush() {
  while (true) {
    const std::uint8_t* data = nullptr;
    while (output_.size() < kAhead) {
      const auto count = nghttp2_session_mem_send(session_.get(), &data);
      if (count <= 0) {
        break;
      }
      output_ += text_of(data, static_cast<std::size_t>(count));
    }
    if (output_.empty()) {
      return {};
    }
    ATHANOR_TRY(const std::size_t sent, socket_.write(output_));
    if (sent == 0) {
      return {};
    }
    output_.erase(0, sent);
  }
}

Result<void> Http2Client::Line::receive() {
  while (true) {
    ATHANOR_TRY(const std::size_t count, socket_.read(block_));
    if (count == 0) {
      return {};
    }
    const auto used = nghttp2_session_mem_recv(
        session_.get(),
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): nghttp2's bytes
        reinterpret_cast<const std::uint8_t*>(block_.data()), count);
    if (used < 0) {
      return Error::unavailable(std::string("HTTP/2: ") + nghttp2_strerror(static_cast<int>(used)));
    }
    ATHANOR_TRY_VOID(flush());  // windows, and what the handlers sent
  }
}

Http2Client::Http2Client() = default;
Http2Client::~Http2Client() = default;

Result<std::unique_ptr<Http2Client>> Http2Client::open(const Server& server,
                                                       std::size_t connections) {
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  std::unique_ptr<Http2Client> client(new Http2Client());
  for (std::size_t i = 0; i < connections; ++i) {
    ATHANOR_TRY(TlsSocket socket, TlsSocket::connect(server.host, server.port, server.ca_file));
    client->lines_.push_back(std::make_unique<Line>(std::move(socket), server));
  }
  return client;
}

Result<void> Http2Client::send(std::size_t connection, const Query& query, Handlers handlers) {
  return lines_[connection]->send(query, std::move(handlers));
}

Result<void> Http2Client::run(std::chrono::milliseconds limit) {
  std::vector<pollfd> waiting;
  waiting.reserve(lines_.size());
  for (const auto& line : lines_) {
    ATHANOR_TRY_VOID(line->flush());
    waiting.push_back(line->interest());
  }
  if (::poll(waiting.data(), waiting.size(), static_cast<int>(limit.count())) <= 0) {
    return {};
  }
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if ((waiting[i].revents & (POLLIN | POLLERR | POLLHUP)) != 0) {
      ATHANOR_TRY_VOID(lines_[i]->receive());
    }
    if ((waiting[i].revents & POLLOUT) != 0) {
      ATHANOR_TRY_VOID(lines_[i]->flush());
    }
  }
  return {};
}

}  // namespace athanor::bench
