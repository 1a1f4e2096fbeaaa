// SPDX-License-Identifier: Apache-2.0
// Stores that were damaged at random, and what `--repair` makes of them. ATHANOR_DAMAGES sets how
// many (scripts/salvage, docs/testing.md); ATHANOR_DAMAGE_SEED where they begin.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "embedded/store/journal_sqlite.hpp"
#include "embedded/store/salvage.hpp"
#include "unit/embedded/store/store_fixture.hpp"

namespace athanor::store::salvage_test {
namespace {

namespace fs = std::filesystem;

using Contents = std::map<std::string, std::string>;  // name to data

constexpr int kObjects = 400;
constexpr int kInLog = 120;  // further writes, which only the log has

std::string data_of(int number, int generation) {
  // Some fill more than a page.
  const std::size_t size =
      number % 7 == 0 ? 9000 : 200 + ((static_cast<std::size_t>(number) * 37) % 900);
  return fmt::format("{}-{}-", number, generation) +
         std::string(size, static_cast<char>('a' + (number % 26)));
}

std::string read_bytes(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

struct Outcome {
  int damages = 0;
  int whole = 0;    // started without --repair, with everything
  int started = 0;  // with --repair
  std::size_t rows = 0;
  std::size_t survived = 0;
  std::size_t older = 0;
};

class SalvageTest : public ::testing::Test {
 protected:
  static SqliteOptions options_in(const std::string& folder, bool repair) {
    return {.path = folder + "/store.db", .mark = folder + "/revision", .repair = repair};
  }

  // A store that was closed once, went on and was killed: half of the newest is in its log.
  static Contents make(const std::string& folder) {
    const pid_t child = ::fork();
    if (child == 0) {
      {
        auto store = Store::open(sqlite_journal(options_in(folder, false)), {});
        for (int i = 0; i < kObjects; ++i) {
          (void)commit(**store, {put({"n", std::to_string(i)}, data_of(i, 0))});
        }
        for (int i = 0; i < kObjects; i += 11) {
          (void)commit(**store, {remove({"n", std::to_string(i)})});
        }
      }
      auto store = Store::open(sqlite_journal(options_in(folder, false)), {});
      for (int i = 1; i < kInLog; ++i) {
        (void)commit(**store, {put({"n", std::to_string(i * 3)}, data_of(i * 3, 1))});
      }
      std::promise<void> settled;
      (*store)->when_durable((*store)->revision(),
                             [&](const Result<void>&) { settled.set_value(); });
      settled.get_future().wait();
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    Contents expected;
    for (int i = 0; i < kObjects; ++i) {
      const bool again = i % 3 == 0 && i > 0 && i < kInLog * 3;
      if (i % 11 != 0 || again) {
        expected[std::to_string(i)] = data_of(i, again ? 1 : 0);
      }
    }
    return expected;
  }

  static Contents contents_of(const Store& store) {
    Contents found;
    const auto page = store.list("configmaps", {});
    EXPECT_TRUE(page.ok());
    for (const StoredPtr& object : page->items) {
      found[object->key.name] = object->body["data"].str();
    }
    return found;
  }
};

using Damage = void (*)(const std::string& database, std::mt19937& random);

std::size_t below(std::mt19937& random, std::size_t most) {
  return std::uniform_int_distribution<std::size_t>(0, most - 1)(random);
}

void flip_bits(const std::string& path, std::mt19937& random, std::size_t most) {
  std::string bytes = read_bytes(path);
  const std::size_t count = 1 + below(random, most);
  for (std::size_t i = 0; i < count && !bytes.empty(); ++i) {
    char& byte = bytes[below(random, bytes.size())];
    byte = static_cast<char>(byte ^ static_cast<char>(1U << below(random, 8)));
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

void zero(const std::string& path, std::size_t from, std::size_t size) {
  std::string bytes = read_bytes(path);
  for (std::size_t i = from; i < std::min(from + size, bytes.size()); ++i) {
    bytes[i] = '\0';
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

const std::pair<const char*, Damage> kDamages[] = {
    {"flipped bits of the database",
     [](const std::string& path, std::mt19937& random) { flip_bits(path, random, 20); }},
    {"flipped bits of the log",
     [](const std::string& path, std::mt19937& random) { flip_bits(path + "-wal", random, 20); }},
    {"zeroed pages",
     [](const std::string& path, std::mt19937& random) {
       for (std::size_t i = 0, count = 1 + below(random, 5); i < count; ++i) {
         zero(path, 4096 * below(random, fs::file_size(path) / 4096), 4096);
       }
     }},
    {"zeroed header",
     [](const std::string& path, std::mt19937& random) {
       zero(path, 0, below(random, 2) == 0 ? 100 : 4096);
     }},
    {"truncated database",
     [](const std::string& path, std::mt19937& random) {
       fs::resize_file(path, fs::file_size(path) * (50 + below(random, 50)) / 100);
     }},
    {"truncated log",
     [](const std::string& path, std::mt19937& random) {
       fs::resize_file(path + "-wal", below(random, fs::file_size(path + "-wal")));
     }},
    {"lost log",
     [](const std::string& path, std::mt19937& /*random*/) { fs::remove(path + "-wal"); }},
    {"emptied database",
     [](const std::string& path, std::mt19937& /*random*/) { fs::resize_file(path, 0); }},
};

std::uint32_t number_of(const char* variable, std::uint32_t standard) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): one thread
  return text == nullptr ? standard : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

TEST_F(SalvageTest, KeepsReadableObjectsAfterRandomDamage) {
  const TemporaryDirectory place;
  const Contents expected = make(place.path());
  const std::uint32_t count = number_of("ATHANOR_DAMAGES", 24);
  const std::uint32_t first = number_of("ATHANOR_DAMAGE_SEED", 1);
  std::map<std::string, Outcome> outcomes;
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    const auto& [name, damage] = kDamages[seed % std::size(kDamages)];
    const TemporaryDirectory copy;
    for (const char* file : {"store.db", "store.db-wal", "revision"}) {
      fs::copy_file(fmt::format("{}/{}", place.path(), file),
                    fmt::format("{}/{}", copy.path(), file));
    }
    std::mt19937 random(seed);
    damage(copy.path() + "/store.db", random);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, name));
    Outcome& outcome = outcomes[name];
    ++outcome.damages;
    outcome.rows += expected.size();
    {
      const auto strict = Store::open(sqlite_journal(options_in(copy.path(), false)), {});
      if (strict.ok()) {
        EXPECT_EQ(contents_of(**strict), expected) << "a loss in silence";
        ++outcome.whole;
      }
    }
    auto store = Store::open(sqlite_journal(options_in(copy.path(), true)), {});
    EXPECT_TRUE(store.ok()) << store.error().message;
    if (!store.ok()) {
      continue;
    }
    ++outcome.started;
    for (const auto& [key, data] : contents_of(**store)) {
      const auto wanted = expected.find(key);
      const bool same = wanted != expected.end() && wanted->second == data;
      outcome.survived += same ? 1 : 0;
      outcome.older += same ? 0 : 1;
      // Whatever is there was written once, as a whole.
      EXPECT_TRUE(data == data_of(std::stoi(key), 0) || data == data_of(std::stoi(key), 1)) << key;
    }
    ASSERT_TRUE(commit(**store, {put({"n", "later"}, "1")}).ok());
    EXPECT_GT((*store)->revision(), Revision{1'000'000});
  }
  Outcome all;
  for (const auto& [name, one] : outcomes) {
    std::cout << fmt::format(
        "{:30} {:4} damaged, {:4} started, {:5.1f} % of the rows, {} older\n", name, one.damages,
        one.started, 100.0 * static_cast<double>(one.survived) / static_cast<double>(one.rows),
        one.older);
    all.damages += one.damages;
    all.started += one.started;
    all.rows += one.rows;
    all.survived += one.survived;
    EXPECT_GT(one.survived * 100, one.rows * 20) << name;
  }
  const double share = 100.0 * static_cast<double>(all.survived) / static_cast<double>(all.rows);
  std::cout << fmt::format("{:30} {:4} damaged, {:4} started, {:5.1f} % of the rows\n", "all",
                           all.damages, all.started, share);
  EXPECT_EQ(all.started, all.damages);
  EXPECT_GT(share, 75.0);
}

TEST_F(SalvageTest, NamesLossesAndKeepsDamagedFiles) {
  const TemporaryDirectory place;
  const std::string path = place.path() + "/store.db";
  {
    auto store = open_store(sqlite_journal(options_in(place.path(), false)));
    for (int i = 0; i < 300; ++i) {
      ASSERT_TRUE(commit(*store, {put({"n", std::to_string(i)}, data_of(i, 0))}).ok());
    }
  }
  // The page that holds one object's text, and whatever else is on it.
  const std::string bytes = read_bytes(path);
  const std::size_t at = bytes.find("\"data\":\"" + data_of(150, 0).substr(0, 20));
  ASSERT_NE(at, std::string::npos);
  zero(path, at / 4096 * 4096, 4096);
  const std::string damaged = read_bytes(path);
  const auto salvaged = salvage(path);
  ASSERT_TRUE(salvaged.ok()) << salvaged.error().message;
  EXPECT_EQ(salvaged->rows + salvaged->lost.size(), 300U);
  EXPECT_GT(salvaged->rows, 250U);
  EXPECT_EQ(std::set<std::string>(salvaged->lost.begin(), salvaged->lost.end()).size(),
            salvaged->lost.size());
  EXPECT_EQ(read_bytes(salvaged->kept), damaged);
  EXPECT_FALSE(fs::exists(path + ".part"));
  EXPECT_FALSE(fs::exists(path + ".salvaged"));
  auto store = open_store(sqlite_journal(options_in(place.path(), true)));
  ASSERT_NE(store, nullptr);
  for (const std::string& key : salvaged->lost) {
    EXPECT_EQ(store->get("configmaps", {"n", key.substr(key.rfind('/') + 1)}), nullptr) << key;
  }
  EXPECT_EQ(store->count("configmaps", ""), salvaged->rows);
}

TEST_F(SalvageTest, ASalvageThatWasCutOffIsCompleted) {
  const TemporaryDirectory place;
  const std::string path = place.path() + "/store.db";
  {
    auto store = open_store(sqlite_journal(options_in(place.path(), false)));
    ASSERT_TRUE(commit(*store, {put({"n", "a"}, "1")}).ok());
  }
  fs::copy_file(path, path + ".salvaged");
  zero(path, 0, fs::file_size(path));
  EXPECT_FALSE(Store::open(sqlite_journal(options_in(place.path(), false)), {}).ok());
  auto store = open_store(sqlite_journal(options_in(place.path(), true)));
  ASSERT_NE(store, nullptr);
  EXPECT_NE(store->get("configmaps", {"n", "a"}), nullptr);
  EXPECT_FALSE(fs::exists(path + ".salvaged"));
}

TEST_F(SalvageTest, RefusesDamagedTableName) {
  const TemporaryDirectory place;
  const std::string path = place.path() + "/store.db";
  {
    auto store = open_store(sqlite_journal(options_in(place.path(), false)));
    ASSERT_TRUE(commit(*store, {put({"n", "a"}, "1")}).ok());
  }
  std::string bytes = read_bytes(path);
  for (std::size_t at = bytes.find("object"); at != std::string::npos && at < 4096;
       at = bytes.find("object", at + 1)) {
    bytes[at + 2] = 'k';
  }
  std::ofstream(path, std::ios::binary) << bytes;
  const auto refused = Store::open(sqlite_journal(options_in(place.path(), false)), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "DataCorrupted");
  auto store = open_store(sqlite_journal(options_in(place.path(), true)));
  ASSERT_NE(store, nullptr);
  EXPECT_NE(store->get("configmaps", {"n", "a"}), nullptr);
}

}  // namespace
}  // namespace athanor::store::salvage_test
