// SPDX-License-Identifier: Apache-2.0
#include "client/credentials.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/digest.hpp"
#include "base/files/text_file.hpp"
#include "base/mutex.hpp"
#include "client/exec_plugin.hpp"

namespace athanor::client {
namespace {

// Of a plugin whose answer had expired when it came: it is not asked for every request.
constexpr Duration kShortestLife = std::chrono::seconds(2);

std::string trimmed_credential(std::string text) {
  constexpr std::string_view kBlank = " \t\r\n";
  text.erase(text.find_last_not_of(kBlank) + 1);
  text.erase(0, std::min(text.find_first_not_of(kBlank), text.size()));
  return text;
}

class LiveCredentials final : public Credentials {
 public:
  LiveCredentials(ClusterConfig config, const Clock& clock, const CredentialOptions& options)
      : config_(std::move(config)), clock_(clock), options_(options) {}

  [[nodiscard]] bool fresh() const override {
    const MutexLock lock(state_mutex_);
    return ready(clock_.now());
  }

  Result<Identity> get() override {
    const MutexLock renewing(renew_mutex_);
    bool rejected = false;
    {
      const MutexLock lock(state_mutex_);
      if (ready(clock_.now())) {
        return answer();
      }
      rejected = std::exchange(rejected_, false);
    }
    Duration life = Duration::max();
    auto renewed = renew(rejected, life);
    const Instant now = clock_.now();
    const MutexLock lock(state_mutex_);
    known_ = true;
    renewed_at_ = now;
    failure_.reset();
    if (!renewed.ok()) {
      failure_ = renewed.error();
      due_ = now + options_.retry_after_reject;
      return answer();
    }
    due_ = life == Duration::max() ? Instant::max() : now + life;
    publish(*std::move(renewed));
    return answer();
  }

  bool reject(std::uint64_t generation) override {
    const MutexLock lock(state_mutex_);
    if (generation != current_.generation) {
      return true;
    }
    const bool renewable = config_.exec || has_files();
    const Duration age = clock_.now() - renewed_at_;
    if (!renewable || (age >= Duration::zero() && age < options_.retry_after_reject)) {
      return false;
    }
    rejected_ = true;
    return true;
  }

 private:
  // A clock that was set back makes everything due.
  [[nodiscard]] bool ready(Instant now) const ATHANOR_REQUIRES(state_mutex_) {
    return known_ && !rejected_ && now < due_ && (now >= renewed_at_ || due_ == Instant::max());
  }

  [[nodiscard]] Result<Identity> answer() const ATHANOR_REQUIRES(state_mutex_) {
    if (failure_) {
      return *failure_;
    }
    return current_;
  }

  void publish(Identity next) ATHANOR_REQUIRES(state_mutex_) {
    next.generation = current_.generation;
    const bool same = next.authorization == current_.authorization &&
                      next.authority == current_.authority &&
                      next.certificate == current_.certificate && next.key == current_.key;
    if (!same || current_.generation == 0) {
      ++next.generation;
    }
    current_ = std::move(next);
  }

  [[nodiscard]] bool has_files() const {
    return !config_.token_file.empty() || from_file(config_.certificate_authority) ||
           from_file(config_.client_certificate) || from_file(config_.client_key);
  }
  static bool from_file(const PemSource& source) {
    return source.text.empty() && !source.file.empty();
  }

  Result<Identity> renew(bool rejected, Duration& life) ATHANOR_REQUIRES(renew_mutex_) {
    if (has_files()) {
      life = options_.reread;
    }
    Identity next;
    ATHANOR_TRY_VOID(refresh(config_.certificate_authority, authority_));
    next.authority = authority_;
    ATHANOR_TRY_VOID(renew_pair());
    next.certificate = certificate_;
    next.key = key_;
    ATHANOR_TRY(std::string token, bearer());
    if (config_.exec) {
      ATHANOR_TRY_VOID(renew_plugin(rejected, life));
      if (token.empty()) {
        token = plugin_->token;
      }
      if (next.certificate.empty()) {
        next.certificate = plugin_->certificate;
        next.key = plugin_->key;
      }
    }
    // A line break in it would be a header of its own.
    if (std::ranges::any_of(token, [](unsigned char c) { return c < ' ' || c == 0x7F; })) {
      return Error{.code = 401,
                   .reason = "Unauthorized",
                   .message = "the bearer token holds a control character"};
    }
    if (!token.empty()) {
      next.authorization = "Bearer " + token;
    } else if (!config_.username.empty()) {
      next.authorization =
          "Basic " + base64_encode(fmt::format("{}:{}", config_.username, config_.password));
    }
    return next;
  }

  // The text as it is now; what was read before when the file cannot be read.
  static Result<void> refresh(const PemSource& source, std::string& known) {
    if (!from_file(source)) {
      known = source.text;
      return {};
    }
    auto text = read_text_file(source.file);
    if (text.ok() && !text->empty()) {
      known = *std::move(text);
    } else if (known.empty()) {
      return Error::not_found(fmt::format("cannot read {}", source.file));
    }
    return {};
  }

  // Both change together: one that is replaced between two reads is read once more.
  Result<void> renew_pair() ATHANOR_REQUIRES(renew_mutex_) {
    ATHANOR_TRY_VOID(refresh(config_.client_certificate, certificate_));
    ATHANOR_TRY_VOID(refresh(config_.client_key, key_));
    const std::string before = certificate_;
    ATHANOR_TRY_VOID(refresh(config_.client_certificate, certificate_));
    if (certificate_ != before) {
      ATHANOR_TRY_VOID(refresh(config_.client_key, key_));
    }
    return {};
  }

  Result<std::string> bearer() ATHANOR_REQUIRES(renew_mutex_) {
    if (config_.token_file.empty()) {
      return config_.token;
    }
    if (const auto text = read_text_file(config_.token_file);
        text.ok() && !trimmed_credential(*text).empty()) {
      token_ = trimmed_credential(*text);
    }
    if (token_.empty()) {
      token_ = config_.token;
    }
    if (token_.empty()) {
      return Error{.code = 401,
                   .reason = "Unauthorized",
                   .message = fmt::format("no token in {}", config_.token_file)};
    }
    return token_;
  }

  Result<void> renew_plugin(bool rejected, Duration& life) ATHANOR_REQUIRES(renew_mutex_) {
    const bool expired = !plugin_ || (plugin_->expires && clock_.now() >= *plugin_->expires);
    if (expired || rejected) {
      plugin_.reset();
      ATHANOR_TRY(plugin_,
                  run_exec_plugin(*config_.exec, config_, authority_, options_.plugin_timeout));
    }
    if (plugin_->expires) {
      life = std::min(life, std::max(*plugin_->expires - clock_.now(), kShortestLife));
    }
    return {};
  }

  const ClusterConfig config_;
  const Clock& clock_;
  const CredentialOptions options_;

  Mutex renew_mutex_{};  // one renewal at a time; guards the five that follow
  std::string authority_ ATHANOR_GUARDED_BY(renew_mutex_){};
  std::string certificate_ ATHANOR_GUARDED_BY(renew_mutex_){};
  std::string key_ ATHANOR_GUARDED_BY(renew_mutex_){};
  std::string token_ ATHANOR_GUARDED_BY(renew_mutex_){};
  std::optional<ExecCredential> plugin_ ATHANOR_GUARDED_BY(renew_mutex_){};

  mutable Mutex state_mutex_{};  // never held during I/O; guards what follows
  bool known_ ATHANOR_GUARDED_BY(state_mutex_) = false;
  bool rejected_ ATHANOR_GUARDED_BY(state_mutex_) = false;
  Identity current_ ATHANOR_GUARDED_BY(state_mutex_){};
  std::optional<Error> failure_ ATHANOR_GUARDED_BY(state_mutex_){};
  Instant due_ ATHANOR_GUARDED_BY(state_mutex_){};
  Instant renewed_at_ ATHANOR_GUARDED_BY(state_mutex_){};
};

}  // namespace

std::shared_ptr<Credentials> Credentials::create(ClusterConfig config, const Clock& clock,
                                                 const CredentialOptions& options) {
  return std::make_shared<LiveCredentials>(std::move(config), clock, options);
}

}  // namespace athanor::client
