// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/network/socket_supervisor.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/files/text_file.hpp"
#include "embedded/nodes/network/sockets.hpp"

namespace athanor::nodes {
namespace {

constexpr int kContinue = -1;  // instead of an error number
constexpr std::size_t kMostAddress = sizeof(sockaddr_in6);

// Returns the process that a thread belongs to; the thread's own number where it cannot be read.
int process_of(int thread) {
  const auto status = read_text_file(fmt::format("/proc/{}/status", thread));
  const std::size_t at = status.ok() ? status->find("\nTgid:") : std::string::npos;
  return at == std::string::npos ? thread : std::atoi(status->c_str() + at + 6);
}

int option_of(int file, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(file, level, name, &value, &size) == 0 ? value : -1;
}

// An address in the family that a call used.
struct PlainAddress {
  sockaddr_in6 storage{};
  socklen_t size = 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the sockets interface is so
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

PlainAddress plain_of(const Address& address, bool is6) {
  PlainAddress plain;
  if (!is6) {
    const sockaddr_in four = socket_address(address);
    std::memcpy(&plain.storage, &four, sizeof four);
    plain.size = sizeof four;
    return plain;
  }
  plain.size = sizeof plain.storage;
  plain.storage.sin6_family = AF_INET6;
  plain.storage.sin6_port = htons(address.port);
  constexpr std::size_t kMark = 10;  // ::ffff:a.b.c.d
  std::uint8_t* bytes = plain.storage.sin6_addr.s6_addr;
  bytes[kMark] = bytes[kMark + 1] = 0xff;
  const std::uint32_t ip = htonl(address.ip);
  std::memcpy(bytes + kMark + 2, &ip, sizeof ip);
  return plain;
}

// Gives a socket of IPv6 alone a place of its own: two pods could not share the machine's.
int bind_to_own_six(int file) {
  sockaddr_in6 own{};
  own.sin6_family = AF_INET6;
  own.sin6_addr = in6addr_loopback;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the sockets interface is so
  return ::bind(file, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0 ? 0 : errno;
}

bool is_bound(int file) {
  sockaddr_in6 bound{};
  socklen_t size = sizeof bound;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the sockets interface is so
  return ::getsockname(file, reinterpret_cast<sockaddr*>(&bound), &size) == 0 &&
         bound.sin6_port != 0;  // at the same place in both families
}

bool is_ready(int file) {
  pollfd polled{file, POLLOUT, 0};
  return ::poll(&polled, 1, 0) > 0;
}

}  // namespace

SocketSupervisor::SocketSupervisor(PollLoop& loop, Descriptor channel, CallRules& rules,
                                   TableSource table)
    : loop_(loop), channel_(std::move(channel)), rules_(rules), table_(std::move(table)) {
  seccomp_notif_sizes sizes{};
  ::syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes);
  notice_.resize(std::max<std::size_t>(sizes.seccomp_notif, sizeof(seccomp_notif)));
  answer_.resize(std::max<std::size_t>(sizes.seccomp_notif_resp, sizeof(seccomp_notif_resp)));
  loop_.add(channel_.get(), EPOLLIN, [this](std::uint32_t events) {
    if ((events & EPOLLIN) != 0) {
      take_listeners();
    } else {
      loop_.remove(channel_.get());  // the spawner is gone
    }
  });
}

SocketSupervisor::~SocketSupervisor() = default;

void SocketSupervisor::take_listeners() {
  while (true) {
    SupervisedPod pod;
    int file = -1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof file)] = {};
    iovec part{.iov_base = &pod, .iov_len = sizeof pod};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (::recvmsg(channel_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof pod) {
      return;
    }
    const cmsghdr* head = CMSG_FIRSTHDR(&message);
    if (head == nullptr || head->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    std::memcpy(&file, CMSG_DATA(head), sizeof file);
    const std::uint64_t id = ++last_listener_;
    listeners_.emplace(id, Listener{.file = Descriptor(file),
                                    .pod = {.ip = pod.ip, .host_network = pod.host_network != 0}});
    loop_.add(file, EPOLLIN, [this, id](std::uint32_t events) { turn(id, events); });
  }
}

void SocketSupervisor::turn(std::uint64_t listener, std::uint32_t events) {
  if ((events & EPOLLIN) == 0) {
    return end(listener);
  }
  const Listener& from = listeners_.at(listener);
  std::ranges::fill(notice_, '\0');  // the kernel wants it so
  if (::ioctl(from.file.get(), SECCOMP_IOCTL_NOTIF_RECV, notice_.data()) != 0) {
    return;  // the process has ended meanwhile
  }
  seccomp_notif notice{};
  std::memcpy(&notice, notice_.data(), sizeof notice);
  Call call{
      .listener = listener, .id = notice.id, .pid = static_cast<int>(notice.pid), .pod = from.pod};
  const bool binds = notice.data.nr == SYS_bind;
  const auto number = static_cast<int>(notice.data.args[0]);
  if (!read_address(call, notice.data.args[1], notice.data.args[2]) ||
      ::ioctl(from.file.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &notice.id) != 0) {
    return respond(call, kContinue);
  }
  const bool concerned = binds ? call.wanted.port != 0 && !call.pod.host_network
                               : is_loopback(call.wanted.ip) || call.wanted.ip == 0 ||
                                     table_()->is_service_ip(call.wanted.ip);
  if (!concerned || !take_socket(call, number)) {
    return respond(call, kContinue);
  }
  return binds ? do_bind(std::move(call)) : do_connect(std::move(call));
}

void SocketSupervisor::end(std::uint64_t listener) {
  const auto found = listeners_.find(listener);
  const std::uint32_t ip = found->second.pod.ip;
  loop_.remove(found->second.file.get());
  listeners_.erase(found);
  const bool alone = std::ranges::none_of(
      listeners_, [ip](const auto& entry) { return entry.second.pod.ip == ip; });
  if (alone) {
    rules_.ended(ip);
  }
}

bool SocketSupervisor::read_address(Call& call, std::uint64_t at, std::uint64_t size) {
  call.address.resize(std::min<std::size_t>(size, kMostAddress));
  const iovec own{.iov_base = call.address.data(), .iov_len = call.address.size()};
  // NOLINTNEXTLINE(performance-no-int-to-ptr,cppcoreguidelines-pro-type-reinterpret-cast): as given
  const iovec theirs{.iov_base = reinterpret_cast<void*>(at), .iov_len = call.address.size()};
  if (::process_vm_readv(call.pid, &own, 1, &theirs, 1, 0) !=
      static_cast<ssize_t>(call.address.size())) {
    return false;
  }
  sa_family_t family = 0;
  std::memcpy(&family, call.address.data(), sizeof family);
  if (family == AF_INET && call.address.size() >= sizeof(sockaddr_in)) {
    sockaddr_in four{};
    std::memcpy(&four, call.address.data(), sizeof four);
    call.wanted = address_in(four);
    return true;
  }
  if (family != AF_INET6 || call.address.size() < sizeof(sockaddr_in6)) {
    return false;
  }
  sockaddr_in6 six{};
  std::memcpy(&six, call.address.data(), sizeof six);
  call.is6 = true;
  call.wanted.port = ntohs(six.sin6_port);
  if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
    constexpr std::size_t kIp = 12;
    std::uint32_t ip = 0;
    std::memcpy(&ip, six.sin6_addr.s6_addr + kIp, sizeof ip);
    call.wanted.ip = ntohl(ip);
    return true;
  }
  return IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr);
}

bool SocketSupervisor::take_socket(Call& call, int number) {
  int process = static_cast<int>(::syscall(SYS_pidfd_open, call.pid, 0));
  if (process < 0) {
    process = static_cast<int>(::syscall(SYS_pidfd_open, process_of(call.pid), 0));
  }
  const Descriptor handle(process);
  call.file.reset(static_cast<int>(::syscall(SYS_pidfd_getfd, handle.get(), number, 0)));
  const int type = call.file.valid() ? option_of(call.file.get(), SOL_SOCKET, SO_TYPE) : -1;
  const int domain = call.file.valid() ? option_of(call.file.get(), SOL_SOCKET, SO_DOMAIN) : -1;
  call.protocol = type == SOCK_STREAM ? Protocol::Tcp : Protocol::Udp;
  return (type == SOCK_STREAM || type == SOCK_DGRAM) && domain == (call.is6 ? AF_INET6 : AF_INET);
}

int SocketSupervisor::bind_to(const Call& call, const Address& to) {
  const PlainAddress address = plain_of(to, call.is6);
  return ::bind(call.file.get(), address.get(), address.size) == 0 ? 0 : errno;
}

int SocketSupervisor::connect_to(const Call& call, const Address& to) {
  const PlainAddress address = plain_of(to, call.is6);
  return ::connect(call.file.get(), address.get(), address.size) == 0 ? 0 : errno;
}

void SocketSupervisor::do_bind(Call call) {
  const CallRule rule = CallRules::bind(call.pod, call.wanted);
  if (rule.way == CallRule::Way::AsItIs) {
    return respond(call, kContinue);
  }
  const bool six_alone = call.is6 && option_of(call.file.get(), IPPROTO_IPV6, IPV6_V6ONLY) == 1;
  if (six_alone) {
    return respond(call, bind_to_own_six(call.file.get()));
  }
  const int error = bind_to(call, rule.to);
  if (error == 0) {
    rules_.bound(call.pod.ip, call.wanted.port, call.protocol);
  }
  respond(call, error);
}

void SocketSupervisor::do_connect(Call call) {
  const CallRule rule =
      rules_.connect(call.pod, call.wanted, call.protocol, *table_(), PollLoop::now_ms());
  if (rule.way == CallRule::Way::AsItIs) {
    return respond(call, kContinue);
  }
  if (rule.refused) {
    return respond(call, ECONNREFUSED);
  }
  if (rule.own_source && call.protocol == Protocol::Tcp && !is_bound(call.file.get())) {
    const int yes = 1;  // the port is chosen with the connection
    ::setsockopt(call.file.get(), SOL_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
    static_cast<void>(bind_to(call, {.ip = call.pod.ip, .port = 0}));
  }
  const int flags = ::fcntl(call.file.get(), F_GETFL);
  const bool waits = (flags & O_NONBLOCK) == 0;
  if (waits) {
    ::fcntl(call.file.get(), F_SETFL, flags | O_NONBLOCK);
  }
  int error = connect_to(call, rule.to);
  if (error == EINPROGRESS && is_ready(call.file.get())) {
    error = connect_to(call, rule.to);  // how it went
  }
  Connecting connecting{.call = std::move(call), .rule = rule, .flags = flags};
  if (error != EINPROGRESS || !waits) {
    return finish(std::move(connecting), error);
  }
  // The other side's queue is full: its process waits, this thread does not.
  const int file = connecting.call.file.get();
  auto kept = std::make_shared<Connecting>(std::move(connecting));
  loop_.add(file, EPOLLOUT, [this, kept, file](std::uint32_t /*events*/) {
    loop_.remove(file);
    const int how = connect_to(kept->call, kept->rule.to);
    finish(std::move(*kept), how == EISCONN ? 0 : how);
  });
}

void SocketSupervisor::finish(Connecting connecting, int error) {
  const Call& call = connecting.call;
  if ((connecting.flags & O_NONBLOCK) == 0) {
    ::fcntl(call.file.get(), F_SETFL, connecting.flags);
  }
  if (error == ECONNREFUSED && connecting.rule.or_as_it_is) {
    rules_.unbound(call.pod.ip, call.wanted.port, call.protocol);
    return respond(call, kContinue);
  }
  respond(call, error);
}

void SocketSupervisor::respond(const Call& call, int error) {
  const auto found = listeners_.find(call.listener);
  if (found == listeners_.end()) {
    return;
  }
  seccomp_notif_resp response{};
  response.id = call.id;
  if (error == kContinue) {
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    response.error = -error;
  }
  std::ranges::fill(answer_, '\0');
  std::memcpy(answer_.data(), &response, sizeof response);
  ::ioctl(found->second.file.get(), SECCOMP_IOCTL_NOTIF_SEND, answer_.data());
}

}  // namespace athanor::nodes
