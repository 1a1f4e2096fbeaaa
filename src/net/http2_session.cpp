// SPDX-License-Identifier: Apache-2.0
// The session on nghttp2, the only file that includes it.
#include "net/http2_session.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/contain.hpp"
#include "net/paced_stream.hpp"
#include "net/request_head.hpp"
#include "net/response_writer.hpp"

namespace athanor::net {
namespace {

constexpr std::uint32_t kRequestWindow = std::uint32_t{1} << 20;  // bytes of a body under way
constexpr std::uint32_t kFirstWindow = std::uint32_t{1} << 16;    // before it is screened
constexpr std::size_t kFieldCost = 128;    // bytes of memory beside a header field's own
constexpr std::size_t kMostQueued = 4096;  // frames that the client does not read

struct FreeCallbacks {
  void operator()(nghttp2_session_callbacks* callbacks) const {
    nghttp2_session_callbacks_del(callbacks);
  }
};
struct FreeOption {
  void operator()(nghttp2_option* option) const { nghttp2_option_del(option); }
};
struct FreeSession {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
};

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): nghttp2 speaks unsigned bytes
  return {reinterpret_cast<const char*>(bytes), size};
}

std::uint8_t* bytes_of(std::string& text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as above
  return reinterpret_cast<std::uint8_t*>(text.data());
}

// The fields of an answer; names in lower case, none that belongs to a connection.
std::vector<std::pair<std::string, std::string>> fields_of(const net::Response& response,
                                                           std::optional<std::size_t> length,
                                                           const std::string& date) {
  std::vector<std::pair<std::string, std::string>> fields{
      {":status", std::to_string(response.status)}};
  for (const auto& [name, value] : response.headers) {
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::string clean(value);
    std::replace_if(
        clean.begin(), clean.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; },
        ' ');
    fields.emplace_back(std::move(lower), std::move(clean));
  }
  if (has_body(response.status)) {
    if (!response.content_type.empty()) {
      fields.emplace_back("content-type", response.content_type);
    }
    if (length) {
      fields.emplace_back("content-length", std::to_string(*length));
    }
  }
  fields.emplace_back("date", date);
  return fields;
}

using Fields = std::vector<std::pair<std::string, std::string>>;

// The table refers to the texts of `fields`.
std::vector<nghttp2_nv> table_of(Fields& fields) {
  std::vector<nghttp2_nv> table;
  table.reserve(fields.size());
  for (auto& [name, value] : fields) {
    table.push_back(
        {bytes_of(name), bytes_of(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  return table;
}

std::size_t declared_body(const net::Request& request) {
  const std::string_view text = request.header("content-length");
  std::size_t size = 0;
  std::from_chars(text.data(), text.data() + text.size(), size);
  return size;
}

net::Response busy_response() {
  net::Response busy = status_response(
      {.code = 429,
       .reason = "TooManyRequests",
       .message = "too many unfinished requests on this connection, please try again later"});
  busy.headers.emplace_back("Retry-After", "1");
  return busy;
}

}  // namespace

// One request and its answer.
struct Http2Session::Stream {
  net::Request request{};
  std::string target{};
  std::string body{};
  std::size_t header_bytes = 0;
  std::size_t held = 0;        // bytes of it in Impl::buffered
  std::size_t unconsumed = 0;  // bytes of the body that the window does not know of
  bool screening = false;      // asked
  bool taken = false;          // and its body is taken
  bool busy = false;           // its head did not fit
  bool complete = false;       // handed over, or answered before
  bool refused = false;
  Time since{};  // of its last progress

  std::string answer{};
  std::vector<std::pair<std::string, std::string>> trailers{};
  std::size_t sent = 0;
  std::unique_ptr<net::Stream> more{};
  bool ended = true;     // `more` has nothing further
  bool waiting = false;  // deferred until wake()
  bool paced = false;    // `more` waits for a client that does not read
  bool answered = false;
};

struct Http2Session::Impl {
  Impl(const Http2Limits& limits_in, Callbacks callbacks_in)
      : limits(limits_in), callbacks(std::move(callbacks_in)), resets_left(limits.resets) {}

  const Http2Limits limits;
  const Callbacks callbacks;
  std::unique_ptr<nghttp2_session, FreeSession> session{};
  std::map<std::int32_t, Stream> streams{};
  std::size_t buffered = 0;  // bytes of requests that are not answered
  std::size_t unsent = 0;    // bytes of answers
  Time now{};
  int resets_left = 0;
  int own_resets = 0;  // that are to be sent, not caused by the client
  Time resets_at{};
  bool broken = false;

  void begin();
  Stream* find(std::int32_t id) {
    const auto found = streams.find(id);
    return found == streams.end() ? nullptr : &found->second;
  }
  void add_header(Stream& stream, std::string_view name, std::string_view value);
  void headers_done(std::int32_t id, Stream& stream, bool body_follows);
  void add_body(std::int32_t id, Stream& stream, std::string_view bytes);
  void screen(std::int32_t id, Stream& stream, std::size_t body);
  void take_body(std::int32_t id, Stream& stream);
  void complete(std::int32_t id, Stream& stream);
  void refuse(std::int32_t id, Stream& stream, net::Response response);
  void note_reset();
  void answer(std::int32_t id, Stream& stream, net::Response& response);
  ssize_t read(Stream& stream, std::uint8_t* buffer, std::size_t size, std::uint32_t& flags);
  void send_trailers(std::int32_t id, Stream& stream);
  // False: the answer goes no further.
  bool pull(Stream& stream);
  void close(std::int32_t id);
  void reset(std::int32_t id);
  bool hold(Stream& stream, std::size_t bytes);
  void release(Stream& stream);
  void heard(const nghttp2_frame& frame);

  static Impl& of(void* user) { return *static_cast<Impl*>(user); }
  static int on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user);
  static int on_header(nghttp2_session* session, const nghttp2_frame* frame,
                       const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                       std::size_t value_size, std::uint8_t flags, void* user);
  static int on_data(nghttp2_session* session, std::uint8_t flags, std::int32_t id,
                     const std::uint8_t* data, std::size_t size, void* user);
  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user);
  static int on_invalid(nghttp2_session* session, const nghttp2_frame* frame, int code, void* user);
  static int on_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user);
  static int on_close(nghttp2_session* session, std::int32_t id, std::uint32_t code, void* user);
  static ssize_t on_read(nghttp2_session* session, std::int32_t id, std::uint8_t* buffer,
                         std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                         void* user);
};

void Http2Session::Impl::begin() {
  nghttp2_session_callbacks* made = nullptr;
  nghttp2_session_callbacks_new(&made);
  const std::unique_ptr<nghttp2_session_callbacks, FreeCallbacks> table(made);
  nghttp2_session_callbacks_set_on_begin_headers_callback(made, on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(made, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(made, on_frame);
  nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(made, on_invalid);
  nghttp2_session_callbacks_set_on_frame_send_callback(made, on_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(made, on_close);
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  const std::unique_ptr<nghttp2_option, FreeOption> options(option);
  nghttp2_option_set_no_auto_window_update(option, 1);  // bodies wait until they are screened
  nghttp2_session* raw = nullptr;
  nghttp2_session_server_new2(&raw, made, this, option);
  session.reset(raw);
  const std::array<nghttp2_settings_entry, 3> settings = {
      {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams},
       {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kFirstWindow},
       {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits.header_bytes)}}};
  nghttp2_submit_settings(raw, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(raw, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(4 * kRequestWindow));
}

int Http2Session::Impl::on_begin_headers(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                                         void* user) {
  if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
    Impl& self = of(user);
    self.streams[frame->hd.stream_id].since = self.now;
  }
  return 0;
}

int Http2Session::Impl::on_header(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                                  const std::uint8_t* name, std::size_t name_size,
                                  const std::uint8_t* value, std::size_t value_size,
                                  std::uint8_t /*flags*/, void* user) {
  Impl& self = of(user);
  // Fields behind the body are no fields of the request.
  if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
    if (Stream* stream = self.find(frame->hd.stream_id)) {
      self.add_header(*stream, text_of(name, name_size), text_of(value, value_size));
    }
  }
  return 0;
}

int Http2Session::Impl::on_data(nghttp2_session* /*session*/, std::uint8_t /*flags*/,
                                std::int32_t id, const std::uint8_t* data, std::size_t size,
                                void* user) {
  const auto failure = contain([&] {
    Impl& self = of(user);
    if (Stream* stream = self.find(id)) {
      self.add_body(id, *stream, text_of(data, size));
    }
  });
  return failure ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

int Http2Session::Impl::on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                                 void* user) {
  // Nothing may be thrown through nghttp2.
  const auto failure = contain([&] { of(user).heard(*frame); });
  return failure ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

void Http2Session::Impl::heard(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_RST_STREAM) {
    note_reset();
  }
  const std::int32_t id = frame.hd.stream_id;
  const bool ends = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  const bool headers = frame.hd.type == NGHTTP2_HEADERS;
  if (Stream* stream = find(id);
      stream != nullptr && headers && frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
    headers_done(id, *stream, !ends);
  }
  if (ends && (headers || frame.hd.type == NGHTTP2_DATA)) {
    if (Stream* stream = find(id)) {
      complete(id, *stream);
    }
  }
}

// What breaks the rules of one stream is answered by a reset: the client may provoke as many as it
// likes, and give up requests without a reset of its own (CVE-2025-8671).
int Http2Session::Impl::on_invalid(nghttp2_session* /*session*/, const nghttp2_frame* /*frame*/,
                                   int /*code*/, void* user) {
  of(user).note_reset();
  return 0;
}

int Http2Session::Impl::on_sent(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                                void* user) {
  Impl& self = of(user);
  if (frame->hd.type != NGHTTP2_RST_STREAM) {
    return 0;
  }
  if (self.own_resets > 0) {
    --self.own_resets;
  } else {
    self.note_reset();
  }
  return 0;
}

int Http2Session::Impl::on_close(nghttp2_session* /*session*/, std::int32_t id,
                                 std::uint32_t /*code*/, void* user) {
  of(user).close(id);
  return 0;
}

ssize_t Http2Session::Impl::on_read(nghttp2_session* /*session*/, std::int32_t id,
                                    std::uint8_t* buffer, std::size_t size, std::uint32_t* flags,
                                    nghttp2_data_source* /*source*/, void* user) {
  Impl& self = of(user);
  Stream* stream = self.find(id);
  if (stream == nullptr) {
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  stream->since = self.now;
  const ssize_t count = self.read(*stream, buffer, size, *flags);
  if ((*flags & NGHTTP2_DATA_FLAG_EOF) != 0 && !stream->trailers.empty()) {
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    self.send_trailers(id, *stream);
  }
  return count;
}

void Http2Session::Impl::send_trailers(std::int32_t id, Stream& stream) {
  const std::vector<nghttp2_nv> table = table_of(stream.trailers);
  nghttp2_submit_trailer(session.get(), id, table.data(), table.size());
}

void Http2Session::Impl::add_header(Stream& stream, std::string_view name, std::string_view value) {
  constexpr std::size_t kFieldOverhead = 32;  // as SETTINGS_MAX_HEADER_LIST_SIZE counts
  const std::size_t size = name.size() + value.size();
  stream.header_bytes += size + kFieldOverhead;
  if (stream.header_bytes > limits.header_bytes || stream.busy) {
    stream.request.headers.clear();
    return release(stream);
  }
  // A byte of HPACK may encode a field of many.
  if (!hold(stream, size + kFieldCost)) {
    stream.busy = true;
    stream.request.headers.clear();
    return release(stream);
  }
  if (name == ":method") {
    stream.request.method = std::string(value);
  } else if (name == ":path") {
    stream.target = std::string(value);
  } else if (name == ":authority") {
    stream.request.headers.erase("host");
    stream.request.headers.emplace("host", value);
  } else if (name == "cookie" && stream.request.headers.contains(name)) {
    stream.request.headers.find(name)->second += "; " + std::string(value);  // RFC 9113 8.2.3
  } else if (!name.starts_with(':') && (name != "host" || !stream.request.headers.contains(name))) {
    stream.request.headers.emplace(name, value);
  }
}

void Http2Session::Impl::headers_done(std::int32_t id, Stream& stream, bool body_follows) {
  if (stream.header_bytes > limits.header_bytes) {
    return refuse(id, stream,
                  rejection_response({.status = 431, .message = "the header block is too large"}));
  }
  if (stream.busy) {
    return refuse(id, stream, busy_response());
  }
  const std::string_view target = stream.target;
  const std::size_t question = target.find('?');
  auto path = decode_path(target.substr(0, question));
  if (!path || !target.starts_with('/')) {
    return refuse(id, stream,
                  rejection_response({.status = 400, .message = "malformed request target"}));
  }
  stream.request.path = *std::move(path);
  if (question != std::string_view::npos) {
    stream.request.query = decode_query(target.substr(question + 1));
  }
  const std::size_t declared = body_follows ? declared_body(stream.request) : 0;
  if (declared > limits.unscreened_body && declared <= limits.body_bytes) {
    screen(id, stream, declared);
  }
}

void Http2Session::Impl::add_body(std::int32_t id, Stream& stream, std::string_view bytes) {
  nghttp2_session_consume_connection(session.get(), bytes.size());
  if (stream.refused) {
    nghttp2_session_consume_stream(session.get(), id, bytes.size());
    return;
  }
  stream.since = now;
  stream.unconsumed += bytes.size();
  if (stream.body.size() + bytes.size() > limits.body_bytes) {
    return refuse(id, stream,
                  rejection_response({.status = 413,
                                      .message = "Request entity too large: limit is " +
                                                 std::to_string(limits.body_bytes)}));
  }
  if (!hold(stream, bytes.size())) {
    return refuse(id, stream, busy_response());
  }
  stream.body += bytes;
  if (stream.taken) {
    take_body(id, stream);
  } else if (stream.body.size() > limits.unscreened_body) {
    screen(id, stream, limits.body_bytes);
  }
}

// Until the verdict the client may send what the stream's first window holds.
void Http2Session::Impl::screen(std::int32_t id, Stream& stream, std::size_t body) {
  if (!std::exchange(stream.screening, true)) {
    callbacks.screen(id, stream.request, body);
  }
}

void Http2Session::Impl::take_body(std::int32_t id, Stream& stream) {
  if (!std::exchange(stream.taken, true)) {
    nghttp2_session_set_local_window_size(session.get(), NGHTTP2_FLAG_NONE, id,
                                          static_cast<std::int32_t>(kRequestWindow));
  }
  nghttp2_session_consume_stream(session.get(), id, std::exchange(stream.unconsumed, 0));
}

void Http2Session::Impl::complete(std::int32_t id, Stream& stream) {
  if (std::exchange(stream.complete, true)) {
    return;
  }
  stream.request.body = std::exchange(stream.body, {});
  net::Request request = std::move(stream.request);
  stream.request.method = request.method;  // whether it is a HEAD
  callbacks.request(id, std::move(request));
}

// Answers before all of the request has come; what still comes is not kept.
void Http2Session::Impl::refuse(std::int32_t id, Stream& stream, net::Response response) {
  stream.complete = true;
  stream.refused = true;
  nghttp2_session_consume_stream(session.get(), id, std::exchange(stream.unconsumed, 0));
  if (callbacks.refusal) {
    response = callbacks.refusal(std::move(response));
  }
  answer(id, stream, response);
}

bool Http2Session::Impl::hold(Stream& stream, std::size_t bytes) {
  if (buffered + bytes > limits.buffered_bytes) {
    return false;
  }
  buffered += bytes;
  stream.held += bytes;
  return true;
}

void Http2Session::Impl::release(Stream& stream) {
  buffered -= std::exchange(stream.held, 0);
  stream.body = {};
}

void Http2Session::Impl::reset(std::int32_t id) {
  ++own_resets;
  nghttp2_submit_rst_stream(session.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
}

// Requests that are given up at once cost the server more than the client (CVE-2023-44487).
void Http2Session::Impl::note_reset() {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - resets_at).count();
  if (seconds > 0) {
    const auto forgiven = std::min<std::int64_t>(seconds * limits.resets_per_second, limits.resets);
    resets_left = std::min(limits.resets, resets_left + static_cast<int>(forgiven));
    resets_at = now;
  }
  if (--resets_left < 0 && !std::exchange(broken, true)) {
    nghttp2_session_terminate_session(session.get(), NGHTTP2_ENHANCE_YOUR_CALM);
  }
}

void Http2Session::Impl::answer(std::int32_t id, Stream& stream, net::Response& response) {
  if (std::exchange(stream.answered, true)) {
    return;
  }
  stream.since = now;
  release(stream);
  const bool bodiless = stream.request.method == "HEAD" || !has_body(response.status);
  const bool open_ended = response.stream != nullptr || !response.trailers.empty();
  auto fields = fields_of(
      response, open_ended ? std::nullopt : std::optional<std::size_t>(response.body.size()),
      callbacks.date());
  const std::vector<nghttp2_nv> table = table_of(fields);
  nghttp2_data_provider provider{};
  provider.read_callback = on_read;
  if (!bodiless) {
    stream.answer = std::move(response.body);
    stream.trailers = std::move(response.trailers);
    unsent += stream.answer.size();
    stream.more = std::move(response.stream);
    stream.ended = stream.more == nullptr;
    stream.paced = dynamic_cast<net::PacedStream*>(stream.more.get()) != nullptr;
    if (stream.more != nullptr) {
      stream.more->on_ready(callbacks.waker(id));
    }
  }
  nghttp2_submit_response(session.get(), id, table.data(), table.size(),
                          bodiless ? nullptr : &provider);
}

bool Http2Session::Impl::pull(Stream& stream) {
  stream.answer.clear();
  stream.sent = 0;
  const auto failure = contain(
      [&] { stream.ended = stream.more->pull(stream.answer) == net::Stream::State::Ended; });
  if (failure || !callbacks.may_hold(stream.answer.size())) {
    stream.answer = {};
    return false;
  }
  unsent += stream.answer.size();
  return true;
}

ssize_t Http2Session::Impl::read(Stream& stream, std::uint8_t* buffer, std::size_t size,
                                 std::uint32_t& flags) {
  if (stream.sent == stream.answer.size() && stream.more != nullptr && !stream.ended &&
      !pull(stream)) {
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  const std::size_t count = std::min(size, stream.answer.size() - stream.sent);
  const std::string_view next = std::string_view(stream.answer).substr(stream.sent, count);
  std::memcpy(buffer, next.data(), next.size());
  stream.sent += count;
  unsent -= count;
  if (stream.sent == stream.answer.size() && stream.ended) {
    flags |= NGHTTP2_DATA_FLAG_EOF;
    stream.answer = {};
    stream.sent = 0;
  } else if (count == 0) {
    stream.waiting = true;
    stream.answer = {};
    stream.sent = 0;
    return NGHTTP2_ERR_DEFERRED;
  }
  return static_cast<ssize_t>(count);
}

void Http2Session::Impl::close(std::int32_t id) {
  const auto found = streams.find(id);
  if (found != streams.end()) {
    release(found->second);
    unsent -= found->second.answer.size() - found->second.sent;
    streams.erase(found);
  }
  if (callbacks.gone) {
    callbacks.gone(id);
  }
}

Http2Session::Http2Session(const Http2Limits& limits, Callbacks callbacks)
    : impl_(std::make_unique<Impl>(limits, std::move(callbacks))) {
  impl_->begin();
}

Http2Session::~Http2Session() = default;

bool Http2Session::feed(std::string_view bytes, Time now) {
  impl_->now = now;
  const auto count = nghttp2_session_mem_recv(
      impl_->session.get(),
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): nghttp2 speaks unsigned bytes
      reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  // Answers that a client provokes and does not read pile up here.
  return count >= 0 && !impl_->broken &&
         nghttp2_session_get_outbound_queue_size(impl_->session.get()) <= kMostQueued;
}

bool Http2Session::take_output(std::string& out, std::size_t limit) {
  const std::size_t before = out.size();
  while (out.size() - before < limit) {
    const std::uint8_t* data = nullptr;
    const auto count = nghttp2_session_mem_send(impl_->session.get(), &data);
    if (count <= 0) {
      break;
    }
    out += text_of(data, static_cast<std::size_t>(count));
  }
  return out.size() > before;
}

void Http2Session::respond(std::int32_t stream, net::Response& response) {
  if (Stream* found = impl_->find(stream)) {
    impl_->answer(stream, *found, response);
  }
}

void Http2Session::screened(std::int32_t stream, Verdict verdict) {
  Stream* found = impl_->find(stream);
  if (found == nullptr || found->complete) {
    return;
  }
  switch (verdict) {
    case Verdict::Go:
      return impl_->take_body(stream, *found);
    case Verdict::Busy:
      return impl_->refuse(stream, *found, busy_response());
    case Verdict::Refuse:
      found->refused = true;
      found->request.without_body = true;
      impl_->release(*found);
      return impl_->complete(stream, *found);
  }
}

void Http2Session::wake(std::int32_t stream) {
  Stream* found = impl_->find(stream);
  if (found != nullptr && std::exchange(found->waiting, false)) {
    nghttp2_session_resume_data(impl_->session.get(), stream);
  }
}

void Http2Session::drain() {
  nghttp2_submit_goaway(impl_->session.get(), NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(impl_->session.get()),
                        NGHTTP2_NO_ERROR, nullptr, 0);
}

void Http2Session::check_time(Time now) {
  impl_->now = now;
  for (const auto& [id, stream] : impl_->streams) {
    const bool unfinished = !stream.complete && now > stream.since + impl_->limits.request_timeout;
    // It has something to say, and the client opens no window for it.
    const bool unread = stream.answered && !stream.waiting && !stream.paced &&
                        now > stream.since + impl_->limits.progress_timeout;
    if (unfinished || unread) {
      impl_->reset(id);
    }
  }
}

bool Http2Session::idle() const {
  return impl_->streams.empty();
}

std::size_t Http2Session::request_bytes() const {
  return impl_->buffered;
}

std::size_t Http2Session::answer_bytes() const {
  return impl_->unsent;
}

bool Http2Session::over() const {
  return nghttp2_session_want_read(impl_->session.get()) == 0 &&
         nghttp2_session_want_write(impl_->session.get()) == 0;
}

}  // namespace athanor::net
