// SPDX-License-Identifier: Apache-2.0
#include "client/git_source.hpp"

#include <curl/curl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/condition_variable.hpp"
#include "base/digest.hpp"
#include "base/files/folder.hpp"
#include "base/files/scratch_folder.hpp"
#include "base/mutex.hpp"
#include "base/process/program.hpp"
#include "client/http/link_local.hpp"
#include "kube/text/json.hpp"

namespace athanor::client {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{1} << 20;  // more than an object may have
constexpr std::size_t kMostWaiting = 256;
constexpr int kWorkers = 4;
constexpr int kMostPerHost = 2;       // one host that does not answer leaves workers to others
constexpr std::int64_t kBlock = 512;  // bytes of the shell's `ulimit -f`
constexpr int kMostMemory = 1 << 20;  // KiB of `ulimit -v`: git keeps a server's list of refs whole

constexpr std::string_view kConfiguration = "config.global";  // in place of the user's

using Setting = std::pair<std::string, std::string>;

struct RepositoryHost {
  std::string name{};
  std::string port{};
};

// Takes a URL apart. Errors: it is not one of http or https, or holds a name or password.
Result<RepositoryHost> host_of_repository(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)> parsed(::curl_url(),
                                                                     &::curl_url_cleanup);
  const auto part = [&](CURLUPart which) {
    char* text = nullptr;
    std::string copy;
    if (::curl_url_get(parsed.get(), which, &text, CURLU_DEFAULT_PORT) == CURLUE_OK) {
      copy = text;
    }
    ::curl_free(text);
    return copy;
  };
  const bool valid = ::curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK;
  const std::string scheme = part(CURLUPART_SCHEME);
  if (!valid || (scheme != "https" && scheme != "http")) {
    return Error::bad_request(
        fmt::format("'{}' is not the address of a repository over https or http", url));
  }
  if (!part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty()) {
    return Error::bad_request("the address of a repository holds a name or password; use gitToken");
  }
  RepositoryHost host{.name = part(CURLUPART_HOST), .port = part(CURLUPART_PORT)};
  if (host.name.starts_with('[')) {
    host.name = host.name.substr(1, host.name.size() - 2);
  }
  return host;
}

// Returns the setting that lets git dial the address that was checked, whatever the name's server
// says next.
Result<Setting> pinned_address(const RepositoryHost& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.name.c_str(), host.port.c_str(), &hints, &found);
      failed != 0) {
    return Error::bad_request(fmt::format("host {}: {}", host.name, ::gai_strerror(failed)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::string addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (is_link_local(*one->ai_addr)) {
      return Error::bad_request(std::string(kLinkLocalRefused));
    }
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      const std::string address(text.data());
      addresses += addresses.empty() ? "" : ",";
      addresses += one->ai_family == AF_INET6 ? "[" + address + "]" : address;
    }
  }
  return Setting("http.curloptResolve", fmt::format("{}:{}:{}", host.name, host.port, addresses));
}

// Returns true if a file in the folder has grown to the limit: git names no such cause.
bool reached_limit(const std::string& folder, std::int64_t most_bytes) {
  return std::ranges::any_of(paths_below(folder), [&](const std::string& path) {
    std::error_code unclear;
    const auto size = std::filesystem::file_size(path, unclear);
    return !unclear && static_cast<std::int64_t>(size) >= most_bytes / kBlock * kBlock;
  });
}

// Returns the last line that git printed, without its prefixes.
std::string cause_of(const ProgramResult& result) {
  std::string text = result.output;
  text.erase(text.find_last_not_of(" \n") + 1);
  text = text.substr(text.find_last_of('\n') + 1);
  for (const std::string_view prefix : {"fatal: ", "error: "}) {
    if (text.starts_with(prefix)) {
      text.erase(0, prefix.size());
    }
  }
  if (text.find("ut of memory") != std::string::npos) {
    return fmt::format("git needs more than {} MiB of memory for the server's answer",
                       kMostMemory >> 10);
  }
  constexpr std::size_t kMostCause = 300;
  return text.substr(0, kMostCause);
}

// Returns true if the server refused to send a commit by its hash, or knows no ref of this name:
// the texts of git's client and of upload-pack.
bool refuses_hash(const Error& error) {
  return std::ranges::any_of(
      std::array<std::string_view, 4>{"not our ref", "unadvertised object", "find remote ref",
                                      "does not allow request"},
      [&](std::string_view text) { return error.message.find(text) != std::string::npos; });
}

// One question at a repository.
struct GitQuestion {
  std::string url{};
  std::string revision{};
  std::string path{};
  std::string folder{};  // of repositories on this machine
  Value secret{};
};

// Returns the host that a question keeps busy; empty: this machine.
std::string busy_host(const GitQuestion& question) {
  const auto host = host_of_repository(question.url);
  return host && question.folder.empty() ? host->name : std::string();
}

// Returns true for a commit's hash, or the beginning of one.
bool is_hash(std::string_view revision) {
  return revision.size() >= 7 && revision.size() <= 64 &&
         revision.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

constexpr std::string_view kFileScheme = "file://";

// Returns the path without links; empty where there is nothing.
std::string without_links(const std::string& path) {
  std::error_code failed;
  const auto found = std::filesystem::canonical(path, failed);
  return failed ? std::string() : found.string();
}

bool is_below(const std::string& path, const std::string& folder) {
  return path.starts_with(folder.ends_with('/') ? folder : folder + "/");
}

// Returns the path, without links, of a repository below the folder. Errors (400): there is none;
// it, its `.git` or its objects are elsewhere, perhaps by a link.
Result<std::string> local_repository(const std::string& folder, const std::string& url) {
  const std::string root = without_links(folder);
  if (root.empty()) {
    return Error::bad_request(fmt::format("TEKTON_GIT_FOLDER: there is no folder {}", folder));
  }
  const std::string given = url.starts_with(kFileScheme) ? url.substr(kFileScheme.size()) : url;
  std::string path = given.starts_with('/') ? without_links(given) : std::string();
  // One error for both, so that runs cannot find out which other folders exist.
  if (!is_below(path, root)) {
    return Error::bad_request(
        fmt::format("there is no repository {} below the folder of TEKTON_GIT_FOLDER", given));
  }
  std::error_code unclear;
  const bool plain = std::filesystem::exists(path + "/.git", unclear);
  const std::string git = plain ? path + "/.git" : path;
  for (const std::string& part : {git, git + "/objects"}) {
    const std::string place = without_links(part);
    if (!is_below(place, root) || !std::filesystem::is_directory(place, unclear)) {
      return Error::bad_request(fmt::format(
          "{} is no repository: {} is no folder below that of TEKTON_GIT_FOLDER", given, part));
    }
  }
  // Objects of another repository, which may be anywhere. What lies inside the folder's own
  // repositories is trusted: whoever fills the folder decides.
  if (std::filesystem::exists(git + "/commondir", unclear)) {
    return Error::bad_request(
        fmt::format("{} is a worktree of another repository (commondir)", given));
  }
  if (std::filesystem::exists(git + "/objects/info/alternates", unclear)) {
    return Error::bad_request(
        fmt::format("{} borrows objects of another repository (objects/info/alternates)", given));
  }
  return path;
}

// A repository with the protocols and settings that git fetches it with.
struct Remote {
  std::string url{};
  std::string protocols{};  // that git may use
  std::vector<Setting> settings{};
};

// Returns settings that limit what git reads and runs.
std::vector<Setting> careful_settings() {
  return {{"http.followRedirects", "false"},
          {"fetch.unpackLimit", "1"},  // one pack, whose size is bounded
          {"fetch.fsckObjects", "true"},
          {"core.hooksPath", "/dev/null"}};
}

}  // namespace

struct GitSource::State {
  explicit State(GitSourceOptions given) : options(std::move(given)) {}

  struct Task {
    GitQuestion question{};
    std::string host{};
    Done done{};
  };

  const GitSourceOptions options;
  std::atomic<bool> stopping{false};
  Mutex mutex{};
  ConditionVariable news{};
  std::deque<Task> waiting ATHANOR_GUARDED_BY(mutex){};
  std::map<std::string, int> busy ATHANOR_GUARDED_BY(mutex){};  // by host: how many fetch from it
  std::vector<std::thread> threads{};

  void run();
  // Takes the first question whose host is not busy; nullopt: there is none.
  std::optional<Task> take() ATHANOR_REQUIRES(mutex);
  Result<Value> answer(const GitQuestion& question) const;
  Result<std::string> authorization(const Value& secret) const;
  Result<void> trust(const std::string& folder, const std::string& repository) const;
  Result<Remote> remote(const GitQuestion& question) const;
  Result<std::string> git(const std::string& folder, std::vector<std::string> words,
                          const Remote& remote, bool takes_errors) const;
  Result<std::string> fetch(const std::string& folder, const Remote& from,
                            const std::string& revision) const;
  Result<std::string> read_file(const std::string& folder, const std::string& commit,
                                const GitQuestion& question) const;
};

// Runs git in the folder with nothing of this user's or machine's configuration. `ulimit` ends a
// fetch whose pack grows too large.
Result<std::string> GitSource::State::git(const std::string& folder, std::vector<std::string> words,
                                          const Remote& remote, bool takes_errors) const {
  const std::vector<Setting>& settings = remote.settings;
  ProgramCall call{
      .words = {"/bin/sh", "-c",
                fmt::format("ulimit -f {}; ulimit -v {}; exec git \"$@\"",
                            options.most_bytes / kBlock, kMostMemory),
                "git", "-C", folder},
      .variables = {{"HOME", folder},
                    {"LC_ALL", "C"},
                    {"GIT_CONFIG_NOSYSTEM", "1"},
                    {"GIT_CONFIG_GLOBAL", fmt::format("{}/{}", folder, kConfiguration)},
                    {"GIT_TERMINAL_PROMPT", "0"},
                    {"GIT_ASKPASS", "/bin/true"},
                    {"GIT_ALLOW_PROTOCOL", remote.protocols},
                    {"GIT_CONFIG_COUNT", std::to_string(settings.size())}},
      .timeout = options.timeout,
      .output_limit = kMostFileBytes,
      .takes_errors = takes_errors,
      .cancelled = &stopping};
  call.words.insert(call.words.end(), std::make_move_iterator(words.begin()),
                    std::make_move_iterator(words.end()));
  for (std::size_t i = 0; i < settings.size(); ++i) {
    call.variables.emplace_back(fmt::format("GIT_CONFIG_KEY_{}", i), settings[i].first);
    call.variables.emplace_back(fmt::format("GIT_CONFIG_VALUE_{}", i), settings[i].second);
  }
  ProgramResult result = run_program(call);
  constexpr int kMissing = 127;
  switch (result.ending) {
    case ProgramEnding::Late:
      return Error::bad_request(
          fmt::format("git did not end within {} s",
                      std::chrono::duration_cast<std::chrono::seconds>(options.timeout).count()));
    case ProgramEnding::Talkative:
      return Error::bad_request("git printed more than 1 MiB");
    case ProgramEnding::NotFound:
    case ProgramEnding::Failed:
      return Error::internal("/bin/sh cannot be started");
    case ProgramEnding::Exited:
      break;
  }
  if (result.code == kMissing) {
    return Error::bad_request("the resolver git needs the program git on the lab's machine");
  }
  if (result.code != 0 && reached_limit(folder, options.most_bytes)) {
    return Error::bad_request(
        fmt::format("the commit is larger than {} MiB", options.most_bytes >> 20));
  }
  if (result.code != 0) {
    return Error::bad_request(cause_of(result));
  }
  return std::move(result.output);
}

Result<std::string> GitSource::State::authorization(const Value& secret) const {
  const Key key{secret["namespace"].str(), secret["name"].str()};
  ATHANOR_TRY(const Value found, options.secret(key));
  const auto token = base64_decode(found["data"][secret["key"].as_string()].as_string());
  if (!token || token->empty()) {
    return Error::bad_request(
        fmt::format("secret {}/{} has no key {}", key.ns, key.name, secret["key"].str()));
  }
  std::string text = *token;
  text.erase(text.find_last_not_of(" \n") + 1);
  return "Authorization: Basic " + base64_encode("git:" + text);
}

// Reads the file out of the commit that was fetched. A link would be read as its target's name: it
// is refused, as is a folder.
Result<std::string> GitSource::State::read_file(const std::string& folder,
                                                const std::string& commit,
                                                const GitQuestion& question) const {
  ATHANOR_TRY(const std::string listed,
              git(folder, {"ls-tree", "-l", commit, "--", question.path}, {}, false));
  // "100644 blob <hash> <size>\t<path>"
  const std::string mode = listed.substr(0, listed.find(' '));
  if (listed.empty()) {
    return Error::bad_request(
        fmt::format("there is no file {} at revision {}", question.path, question.revision));
  }
  if (mode != "100644" && mode != "100755") {
    return Error::bad_request(fmt::format("{} is no file but a {}", question.path,
                                          mode == "120000"   ? "symbolic link"
                                          : mode == "160000" ? "submodule"
                                                             : "folder"));
  }
  const std::string head = listed.substr(0, listed.find('\t'));
  const auto size = json::parse(head.substr(head.rfind(' ') + 1));
  if (!size.ok() || size->as_int(-1) < 0 ||
      size->as_int() > static_cast<std::int64_t>(kMostFileBytes)) {
    return Error::bad_request("the file is larger than 1 MiB");
  }
  return git(folder, {"cat-file", "blob", commit + ":" + question.path}, {}, false);
}

// Names the repository in the folder's configuration: git reads one of another owner only where a
// file says so, as the program that it starts for it gets no settings from variables.
Result<void> GitSource::State::trust(const std::string& folder,
                                     const std::string& repository) const {
  for (const std::string& path : {repository, repository + "/.git"}) {
    ATHANOR_TRY_VOID(git(
        folder, {"config", "--file", std::string(kConfiguration), "--add", "safe.directory", path},
        {}, true));
  }
  return {};
}

Result<Remote> GitSource::State::remote(const GitQuestion& question) const {
  if (!question.folder.empty()) {
    ATHANOR_TRY(std::string path, local_repository(question.folder, question.url));
    return Remote{.url = std::move(path), .protocols = "file", .settings = careful_settings()};
  }
  ATHANOR_TRY(const RepositoryHost host, host_of_repository(question.url));
  ATHANOR_TRY(Setting address, pinned_address(host));
  Remote found{.url = question.url, .protocols = "https:http", .settings = careful_settings()};
  found.settings.push_back(std::move(address));
  if (!question.secret.is_null()) {
    ATHANOR_TRY(std::string header, authorization(question.secret));
    found.settings.emplace_back("http.extraHeader", std::move(header));
  }
  return found;
}

// Fetches one commit and returns its hash. A server may refuse a hash that no branch or tag has:
// then all of them are fetched, within the same limits, and the commit is looked for.
Result<std::string> GitSource::State::fetch(const std::string& folder, const Remote& from,
                                            const std::string& revision) const {
  const std::vector<std::string> common = {"fetch", "-q", "--no-recurse-submodules",
                                           "--no-write-commit-graph"};
  std::vector<std::string> one = common;
  one.insert(one.end(), {"--depth=1", "--no-tags", "--", from.url, revision});
  std::string name = "FETCH_HEAD";
  if (const auto fetched = git(folder, std::move(one), from, true); !fetched.ok()) {
    if (!is_hash(revision) || !refuses_hash(fetched.error())) {
      return fetched.error();
    }
    std::vector<std::string> all = common;
    all.insert(all.end(),
               {"--", from.url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"});
    ATHANOR_TRY_VOID(git(folder, std::move(all), from, true));
    name = revision + "^{commit}";
  }
  auto commit = git(folder, {"rev-parse", "-q", "--verify", name}, {}, false);
  if (!commit.ok() && name == "FETCH_HEAD") {
    return commit.error();
  }
  if (!commit.ok()) {
    return Error::bad_request(
        fmt::format("no branch or tag of the repository has the commit {}", revision));
  }
  commit->erase(commit->find_last_not_of('\n') + 1);
  return commit;
}

Result<Value> GitSource::State::answer(const GitQuestion& question) const {
  if (question.revision.empty() || question.revision.starts_with('-') ||
      question.revision.find_first_of(" \n\t:*?[\\^~") != std::string::npos) {
    return Error::bad_request(fmt::format("'{}' is no revision", question.revision));
  }
  if (!is_path_below(question.path)) {
    return Error::bad_request(fmt::format("'{}' is no path in a repository", question.path));
  }
  ATHANOR_TRY(const Remote from, remote(question));
  std::error_code failed;
  ATHANOR_TRY(const ScratchFolder scratch,
              ScratchFolder::make(std::filesystem::temp_directory_path(failed), "athanor-git-"));
  ATHANOR_TRY_VOID(git(scratch.path(), {"init", "-q", "--bare", "."}, {}, true));
  if (!question.folder.empty()) {
    ATHANOR_TRY_VOID(trust(scratch.path(), from.url));
  }
  ATHANOR_TRY(const std::string commit, fetch(scratch.path(), from, question.revision));
  ATHANOR_TRY(const std::string text, read_file(scratch.path(), commit, question));
  return Value::object({{"text", text}, {"commit", commit}});
}

std::optional<GitSource::State::Task> GitSource::State::take() {
  const auto found = std::ranges::find_if(
      waiting,
      [this](const Task& task) ATHANOR_REQUIRES(mutex) { return busy[task.host] < kMostPerHost; });
  if (found == waiting.end()) {
    return std::nullopt;
  }
  Task task = std::move(*found);
  waiting.erase(found);
  ++busy[task.host];
  return task;
}

void GitSource::State::run() {
  while (true) {
    std::optional<Task> next;
    {
      MutexLock lock(mutex);
      news.wait(lock, [this, &next]() ATHANOR_REQUIRES(mutex) {
        next = stopping ? std::nullopt : take();
        return next || stopping;
      });
    }
    if (!next) {
      return;
    }
    auto answered = answer(next->question);
    if (!answered.ok()) {
      answered = answered.error().with_context(
          fmt::format("cannot read '{}' of '{}'", next->question.path, next->question.url));
    }
    next->done(std::move(answered));
    {
      const MutexLock lock(mutex);
      if (--busy[next->host] == 0) {
        busy.erase(next->host);
      }
    }
    news.notify_all();
  }
}

GitSource::GitSource(GitSourceOptions options)
    : state_(std::make_unique<State>(std::move(options))) {
  for (int i = 0; i < kWorkers; ++i) {
    state_->threads.emplace_back([state = state_.get()] { state->run(); });
  }
}

GitSource::~GitSource() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->news.notify_all();
  for (std::thread& thread : state_->threads) {
    thread.join();
  }
}

void GitSource::ask(const std::string& query, Done done) {
  const auto question = json::parse(query.substr(std::min(query.find(':') + 1, query.size())));
  if (!question.ok()) {
    done(Error::bad_request("the question names no repository"));
    return;
  }
  GitQuestion asked{.url = (*question)["url"].str(),
                    .revision = (*question)["revision"].str(),
                    .path = (*question)["path"].str(),
                    .folder = (*question)["folder"].str(),
                    .secret = (*question)["secret"]};
  std::string host = busy_host(asked);
  {
    const MutexLock lock(state_->mutex);
    if (state_->waiting.size() < kMostWaiting) {
      state_->waiting.push_back(
          {.question = std::move(asked), .host = std::move(host), .done = std::move(done)});
      done = nullptr;
    }
  }
  if (done) {
    done(Error::unavailable("too many repositories are waited for"));
    return;
  }
  state_->news.notify_all();
}

}  // namespace athanor::client
