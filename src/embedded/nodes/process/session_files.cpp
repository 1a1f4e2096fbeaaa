// SPDX-License-Identifier: Apache-2.0
// Pipes, pseudo terminals and sockets.
#include "embedded/nodes/process/session_files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "embedded/nodes/network/sockets.hpp"

namespace athanor::nodes {
namespace {

Error session_error(const char* what) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is safe
  return Error::internal(fmt::format("{}: {}", what, std::strerror(errno)));
}

bool add_pipe(SessionEnds& ends, int& ours, bool we_write) {
  int pair[2] = {-1, -1};
  if (::pipe2(pair, O_CLOEXEC) != 0) {
    return false;
  }
  ours = we_write ? pair[1] : pair[0];
  ends.theirs.push_back(we_write ? pair[0] : pair[1]);
  return true;
}

}  // namespace

void SessionEnds::close_theirs() {
  for (const int file : theirs) {
    ::close(file);
  }
  theirs.clear();
}

void SessionEnds::close_all() {
  close_theirs();
  for (int* file : {&ours.input, &ours.output, &ours.error}) {
    if (*file >= 0) {
      ::close(std::exchange(*file, -1));
    }
  }
}

Result<SessionEnds> make_pipes(bool with_input, bool with_output) {
  SessionEnds ends;
  const bool made = (!with_input || add_pipe(ends, ends.ours.input, true)) &&
                    (!with_output || (add_pipe(ends, ends.ours.output, false) &&
                                      add_pipe(ends, ends.ours.error, false)));
  if (!made) {
    Error error = session_error("pipe");
    ends.close_all();
    return error;
  }
  return ends;
}

Result<SessionEnds> make_terminal() {
  SessionEnds ends;
  ends.ours.terminal = true;
  ends.ours.output = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  const bool usable = ends.ours.output >= 0 && ::grantpt(ends.ours.output) == 0 &&
                      ::unlockpt(ends.ours.output) == 0;
  const int slave =
      usable ? ::ioctl(ends.ours.output, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
  if (slave < 0) {
    Error error = session_error("pseudo terminal");
    ends.close_all();
    return error;
  }
  ends.theirs.push_back(slave);
  ends.ours.input = ::fcntl(ends.ours.output, F_DUPFD_CLOEXEC, 0);
  return ends;
}

Result<SessionFiles> dial(const Address& address, const std::optional<Address>& otherwise) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (file < 0) {
    return session_error("socket");
  }
  const sockaddr_in wanted = socket_address(reachable(address));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the sockets interface is so
  if (::connect(file, reinterpret_cast<const sockaddr*>(&wanted), sizeof wanted) != 0 &&
      errno != EINPROGRESS) {
    Error error = session_error("connect");
    ::close(file);
    return error;
  }
  pollfd polled{file, POLLOUT, 0};
  if (otherwise && ::poll(&polled, 1, 0) > 0 && (polled.revents & POLLERR) != 0) {
    ::close(file);
    return dial(*otherwise);
  }
  return SessionFiles{.input = ::fcntl(file, F_DUPFD_CLOEXEC, 0),
                      .output = file,
                      .error = -1,
                      .terminal = false,
                      .socket = true,
                      .connecting = true};
}

}  // namespace athanor::nodes
