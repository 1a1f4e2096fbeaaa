// SPDX-License-Identifier: Apache-2.0
#include "webhook/host.hpp"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "api/builtin.hpp"
#include "base/log.hpp"
#include "cluster/platform_tls.hpp"
#include "runtime/engine/engine_host.hpp"
#include "runtime/engine/executors.hpp"
#include "runtime/metrics/metrics.hpp"
#include "webhook/access_questions.hpp"
#include "webhook/server.hpp"

namespace athanor::webhook {
namespace {

// What an input says of the object with this key: nothing (nullopt), or what it is now; an empty
// Object when it is gone. `listed`: whether the parts of a list so far had it.
std::optional<Object> news_of(const runtime::Input& input, const Kind& kind, const Key& key,
                              bool& listed) {
  if (const auto* event = std::get_if<runtime::WatchEvent>(&input)) {
    using Type = runtime::WatchEvent::Type;
    if (event->kind != &kind || event->type == Type::Bookmark || event->object.key() != key) {
      return std::nullopt;
    }
    return event->type == Type::Changed ? event->object : Object();
  }
  const auto* list = std::get_if<runtime::Relisted>(&input);
  if (list == nullptr || list->kind != &kind) {
    return std::nullopt;
  }
  listed = listed && !list->first;
  for (const Object& object : list->objects) {
    if (object.key() == key) {
      listed = true;
      return object;
    }
  }
  return listed || !list->last ? std::nullopt : std::optional<Object>(std::in_place);
}

// Decides questions; where a webhook asks about rights, once more with their answers.
struct Judge {
  // A webhook that asks more after so many rounds decides with what it knows.
  static constexpr int kMostRounds = 3;

  std::function<void(std::function<void(const View& view, Instant now)>)> inspect{};
  std::shared_ptr<client::ApiClient> client{};

  void decide(const Question& question, ServerOptions::Answer answer, AccessAnswers answers,
              int round) const {
    inspect([self = *this, question, answer = std::move(answer), answers = std::move(answers),
             round](const View& view, Instant now) {
      Reads reads;
      const AnsweredView answered(view, answers);
      Verdict verdict = verdict_of(question, View(answered, reads), now);
      std::vector<std::string> open = open_questions(reads, answers);
      if (open.empty() || round == kMostRounds) {
        answer(std::move(verdict));
        return;
      }
      ask_access(*self.client, std::move(open), answers, now,
                 [self, question, answer, round](AccessAnswers more) {
                   self.decide(question, answer, std::move(more), round + 1);
                 });
    });
  }
};

}  // namespace

struct Host::State final : runtime::EngineJournal {
  explicit State(HostOptions host_options) : options(std::move(host_options)) {}

  void make_driver();
  // Every replica serves what the Secret holds, the leader or not.
  void input(const runtime::Engine& engine, const runtime::Input& input, Instant now) override {
    if (const auto secret = news_of(input, api::kSecret, options.settings.secret, listed)) {
      take(*secret);
    }
    tls.input(engine, input, now);
    if (options.on_ready && !announced) {
      if (const auto* list = std::get_if<runtime::Relisted>(&input);
          list != nullptr && list->last) {
        unlisted.erase(list->kind);
      }
      // Once the engine has taken it.
      driver->inspect([this](const View& view, Instant /*now*/) { announce(view); });
    }
  }
  void ran(std::span<const runtime::Effect> /*effects*/, Instant /*now*/) override {}
  // On the driver's thread.
  void take(const Object& secret);
  void announce(const View& view);
  void take_profile(const TlsProfile& profile);
  void renew_set(const std::string& query, const runtime::Executors::Completion& done) const;

  HostOptions options;
  std::unique_ptr<Server> server{};
  runtime::Executors executors{};
  CertificateSet current{};   // of the driver's thread
  std::string version = "-";  // likewise: the Secret's
  bool listed = false;        // likewise: the list under way has it
  // Likewise: of the configurations; on_ready was called.
  std::set<const Kind*> unlisted{&kValidatingConfiguration, &kMutatingConfiguration};
  bool announced = false;
  cluster::TlsFollower tls{
      [this](cluster::TlsFollower::Reader reader) { driver->inspect(std::move(reader)); },
      [this](const TlsProfile& profile) { take_profile(profile); }};
  std::unique_ptr<cluster::ClusterDriver> driver{};
};

// Without a Secret the last certificate is served on until the next one is there.
void Host::State::take(const Object& secret) {
  CertificateSet set = read_set(secret.body()["data"]);
  version = secret.body().is_null() ? "-" : std::string(secret.resource_version());
  if (set == current) {
    return;
  }
  current = std::move(set);
  if (current.certificate.empty()) {
    return;  // there is none, or it was made for us to fill
  }
  if (const auto used = server->use(current.certificate, current.key); !used.ok()) {
    log::warn("the webhooks' certificate cannot be used", {{"error", used.error().message}});
    return;
  }
  const Instant end = expiry_of(current);
  log::info("webhooks: a certificate is served",
            {{"secret", secret.key().text()}, {"until", format_time(end)}});
  if (options.metrics != nullptr) {
    options.metrics
        ->gauge("athanor_webhook_certificate_expiry_seconds",
                "When the serving certificate ends, seconds since 1970.")
        .set(std::chrono::duration<double>(end.time_since_epoch()).count());
  }
}

void Host::State::take_profile(const TlsProfile& profile) {
  const auto limited = server->limit(net::without_unknown(
      {.min_version = profile.min_version, .ciphers = profile.cipher_names()}));
  if (limited.ok()) {
    log::info("webhooks: the cluster's TLS profile is followed",
              {{"version", profile.min_version}, {"ciphers", profile.ciphers}});
  } else {
    log::warn("webhooks: the cluster's TLS profile cannot be followed",
              {{"error", limited.error().message}});
  }
}

void Host::State::announce(const View& view) {
  if (!announced && unlisted.empty() && server->serving() && bundles_are_written(view)) {
    announced = true;
    options.on_ready();
  }
}

void Host::State::renew_set(const std::string& query,
                            const runtime::Executors::Completion& done) const {
  const CertificateQuery asked = CertificateQuery::parse(query);
  if (asked.version != version) {
    done(Error::conflict("the Secret has changed meanwhile"));
    return;
  }
  auto made = renew(current, asked.duty, options.settings.certificates, options.clock->now());
  if (!made.ok()) {
    done(made.error());
    return;
  }
  log::info("webhooks: certificates are renewed", {{"what", name_of(asked.duty)}});
  done(to_data(*made));
}

void Host::State::make_driver() {
  executors.on_probe(std::string(kCertificateProbe),
                     [this](const std::string& query, const runtime::Executors::Completion& done) {
                       renew_set(query, done);
                     });
  const Key secret = options.settings.secret;
  std::vector<const Operator*> all = operators(options.conversions);
  if (options.platform_tls) {
    all.push_back(&cluster::platform_tls_operator());
  }
  driver =
      std::make_unique<cluster::ClusterDriver>(
          all, cluster::DriverOptions{
                   .client = options.client,
                   .clock = options.clock,
                   .entropy = options.entropy,
                   .executors = &executors,
                   .metrics = options.metrics,
                   .leadership = options.leadership,
                   .config = {{std::string(kSection), to_value(options.settings)}},
                   .namespaces = {secret.ns},
                   .narrow =
                       [secret](client::FeedScope& scope) {
                         if (scope.kind == &api::kSecret) {
                           scope.field_selector = "metadata.name=" + secret.name;
                         }
                         const bool crd = scope.kind == &api::kCustomResourceDefinition;
                         scope.trim = client::trim_fields(
                             crd ? std::vector<std::vector<std::string>>{{"spec", "versions"},
                                                                         {"status"}}
                                 : std::vector<std::vector<std::string>>());
                       },
                   .journal = this,
                   .platform_look = options.platform_look});
}

Result<std::unique_ptr<Host>> Host::open(HostOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  ATHANOR_TRY(state->server,
              Server::start({.address = state->options.address,
                             .webhooks = state->options.webhooks,
                             .decide =
                                 [judge = Judge{.inspect = state->options.inspect,
                                                .client = state->options.client}](
                                     const Question& question, ServerOptions::Answer answer) {
                                   judge.decide(question, std::move(answer), {}, 0);
                                 },
                             .convert = state->options.convert,
                             .clock = state->options.clock,
                             .metrics = state->options.metrics}));
  ATHANOR_TRY_VOID(state->server->limit(state->options.tls));
  state->make_driver();
  log::info("webhooks are served", {{"address", state->server->address()}});
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<Host>(new Host(std::move(state)));
}

Host::Host(std::unique_ptr<State> state) : state_(std::move(state)) {}

Host::~Host() {
  stop();
}

void Host::start() {
  state_->driver->start();
}

void Host::lead() {
  state_->driver->lead();
}

void Host::drain(Duration patience) {
  state_->driver->drain(patience);
}

void Host::stop() {
  state_->driver->stop();
  state_->server.reset();
}

bool Host::ready() const {
  return state_->server != nullptr && state_->server->serving();
}

std::string Host::address() const {
  return state_->server == nullptr ? std::string() : state_->server->address();
}

}  // namespace athanor::webhook
