// SPDX-License-Identifier: Apache-2.0
#include "fake_kubelet/raw_grpc.hpp"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

namespace athanor::fake_kubelet {
namespace {

grpc::ByteBuffer buffer_of(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

std::string text_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (buffer.Dump(&slices).ok()) {
    for (const grpc::Slice& slice : slices) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes are text here
      text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }
  return text;
}

// One call of a client: writes, reads one answer, hangs up.
class Call final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Call(grpc::GenericStub& stub, const std::string& method, const std::string& body)
      : request_(buffer_of(body)) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    context_.set_wait_for_ready(true);
    stub.PrepareBidiStreamingCall(&context_, method, {}, this);
    StartWriteLast(&request_, {});
    StartRead(&answer_);
    StartCall();
  }

  RawAnswer wait() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done_; });
    // What was hung up on after its answer has been answered.
    const bool answered = status_.error_code() == grpc::StatusCode::CANCELLED && read_;
    return {.status = answered ? 0 : static_cast<int>(status_.error_code()),
            .message = status_.error_message(),
            .body = read_ ? text_of(answer_) : ""};
  }

  // NOLINTBEGIN(readability-identifier-naming): gRPC has named them
  void OnReadDone(bool ok) override {
    read_ = ok;
    if (ok) {
      context_.TryCancel();
    }
  }
  void OnDone(const grpc::Status& status) override {
    const std::lock_guard lock(mutex_);
    status_ = status;
    done_ = true;
    ended_.notify_one();
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  grpc::ClientContext context_{};
  grpc::ByteBuffer request_;
  grpc::ByteBuffer answer_{};
  std::mutex mutex_{};
  std::condition_variable ended_{};
  grpc::Status status_{};
  bool read_ = false;
  bool done_ = false;
};

class Answer final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Answer(const std::string& body) : answer_(buffer_of(body)) { StartRead(&request_); }
  // NOLINTBEGIN(readability-identifier-naming): gRPC has named them
  void OnReadDone(bool /*ok*/) override { StartWriteAndFinish(&answer_, {}, grpc::Status::OK); }
  void OnDone() override {
    delete this;  // NOLINT(cppcoreguidelines-owning-memory): gRPC's way to end a reactor
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  grpc::ByteBuffer request_{};
  grpc::ByteBuffer answer_;
};

class AnyService final : public grpc::CallbackGenericService {
 public:
  // NOLINTNEXTLINE(readability-identifier-naming): gRPC's name
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* /*context*/) override {
    const std::lock_guard lock(mutex_);
    return new Answer(body_);  // NOLINT(cppcoreguidelines-owning-memory): ends itself
  }
  void set(std::string body) {
    const std::lock_guard lock(mutex_);
    body_ = std::move(body);
  }

 private:
  std::mutex mutex_{};
  std::string body_{};
};

}  // namespace

struct RawClient::State {
  explicit State(const std::string& socket)
      : stub([&] {
          grpc::ChannelArguments arguments;
          arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
          arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
          return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(),
                                           arguments);
        }()) {}
  grpc::GenericStub stub;
};

RawClient::RawClient(const std::string& socket) : state_(std::make_unique<State>(socket)) {}
RawClient::~RawClient() = default;

RawAnswer RawClient::call(const std::string& method, const std::string& body) {
  Call call(state_->stub, method, body);
  return call.wait();
}

void write_raw(const std::string& socket, const std::string& bytes) {
  const int file = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket.c_str(), sizeof(address.sun_path) - 1);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the interface of sockets
  if (::connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    static_cast<void>(::send(file, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  ::close(file);
}

struct RawServer::State {
  AnyService service{};
  std::unique_ptr<grpc::Server> server{};
};

RawServer::RawServer(const std::string& socket) : state_(std::make_unique<State>()) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterCallbackGenericService(&state_->service);
  state_->server = builder.BuildAndStart();
}

RawServer::~RawServer() {
  state_->server->Shutdown(std::chrono::system_clock::now());
  state_->server->Wait();
}

void RawServer::answer_with(std::string body) {
  state_->service.set(std::move(body));
}

std::string varint(unsigned long long number) {
  std::string text;
  for (; number >= 128; number >>= 7U) {
    text += static_cast<char>(number % 128 + 128);
  }
  return text + static_cast<char>(number);
}

std::string field(int number, const std::string& bytes) {
  constexpr unsigned int kLength = 2;  // the wire type
  return varint(static_cast<unsigned int>(number) << 3U | kLength) + varint(bytes.size()) + bytes;
}

}  // namespace athanor::fake_kubelet
