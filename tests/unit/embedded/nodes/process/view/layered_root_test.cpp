// SPDX-License-Identifier: Apache-2.0
// What a container writes stays inside, and what it does not need is not in view (docs/lab.md).
#include "embedded/nodes/process/view/layered_root.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/nodes/process/files/folder_removal.hpp"
#include "embedded/nodes/process/view/mount_calls.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/nodes/process/pod_lab.hpp"

namespace athanor::nodes::layered_root_test {
namespace {

std::string pod_of(const std::string& script, const std::string& more = "") {
  return fmt::format(
      "{{name: p, hostname: h-0, containers: [{{name: c, command: [/bin/sh, -c, {}]{}}}]}}",
      json::quote(script), more);
}

std::string output_of(PodLab& lab, const std::string& pod) {
  lab.start(pod);
  lab.wait_end("p");
  return lab.log("p", "c");
}

// The paths below a folder, but for those that other processes make all the time.
std::set<std::string> paths_below(const std::string& folder) {
  std::set<std::string> paths;
  std::error_code ignored;
  constexpr auto kSkip = std::filesystem::directory_options::skip_permission_denied;
  for (auto at = std::filesystem::recursive_directory_iterator(folder, kSkip, ignored);
       at != std::filesystem::recursive_directory_iterator(); at.increment(ignored)) {
    const std::string path = at->path().string();
    if (path.find("/.cache/ccache") != std::string::npos) {
      at.disable_recursion_pending();
      continue;
    }
    paths.insert(path);
  }
  return paths;
}

class LayeredRoot : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "athanor-try-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const LayerSupport support = try_layers(folder);
    EXPECT_TRUE(std::filesystem::is_empty(folder)) << "trying leaves nothing behind";
    std::filesystem::remove_all(folder);
    if (support.place == LayerPlace::None) {
      GTEST_SKIP() << support.missing;
    }
  }
};

TEST_F(LayeredRoot, WritesDoNotReachTheHost) {
  const std::string mark = fmt::format("athanor-layer-{}", ::getpid());
  PodLab lab;
  const std::string log = output_of(
      lab, pod_of(fmt::format(
               "for d in /usr/local /etc /var/tmp /tmp /opt /root / /home /run; do echo x "
               "> $d/{0} && cat $d/{0}; done 2>&1; rm /etc/passwd && ls /etc/passwd "
               "2>/dev/null || echo gone",
               mark)));
  if (::geteuid() == 0) {
    EXPECT_EQ(log, "x\nx\nx\nx\nx\nx\nx\nx\nx\ngone\n");
  }
  for (const char* folder :
       {"/usr/local/", "/etc/", "/var/tmp/", "/tmp/", "/opt/", "/root/", "/", "/home/", "/run/"}) {
    std::error_code unseen;  // a folder that this user may not look into
    EXPECT_FALSE(std::filesystem::exists(folder + mark, unseen)) << folder;
  }
  EXPECT_TRUE(std::filesystem::exists("/etc/passwd"));
}

// Configures git, pip and npm for the user and, as root, for the machine, and lets each that is
// there install or clone something local; prints the names of these tools. What it makes has
// "athanor" in its name, or is one of config_files().
constexpr const char* kToolSteps = R"sh(
set -e
export HOME=$(getent passwd $(id -u) | cut -d: -f6)
export PIP_BREAK_SYSTEM_PACKAGES=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
mkdir -p ~/.ssh ~/.cache/athanor-x /tmp/w
cd /tmp/w
echo 'Host *' >> ~/.ssh/config
if [ $(id -u) = 0 ]; then
  mkdir -p /etc/ssh/athanor-x.d /usr/local/lib/athanor-x /var/lib/athanor-x
  echo x > /etc/ssh/athanor-x.d/x
fi
if command -v git > /dev/null; then
  git config --global user.name athanor-x
  git config --global user.email athanor-x@example.com
  [ $(id -u) != 0 ] || git config --system --add safe.directory /tmp/w
  git init -q upstream
  git -C upstream commit -q --allow-empty -m first
  git clone -q upstream ~/athanor-x-clone
  test "$(git -C ~/athanor-x-clone log --format=%s)" = first
  echo git
fi
if command -v pip3 > /dev/null && pip3 --version > /dev/null 2>&1; then
  pip3 config --user set global.timeout 7 > /dev/null
  mkdir athanor_x-1.dist-info
  echo 'mark = "made"' > athanor_x.py
  printf 'Metadata-Version: 2.1\nName: athanor-x\nVersion: 1\n' > athanor_x-1.dist-info/METADATA
  printf 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n' \
    > athanor_x-1.dist-info/WHEEL
  printf 'athanor_x.py,,\nathanor_x-1.dist-info/METADATA,,\nathanor_x-1.dist-info/WHEEL,,\n' \
    > athanor_x-1.dist-info/RECORD
  echo 'athanor_x-1.dist-info/RECORD,,' >> athanor_x-1.dist-info/RECORD
  python3 -m zipfile -c athanor_x-1-py3-none-any.whl athanor_x.py athanor_x-1.dist-info
  rm athanor_x.py
  pip3 install -q --no-index --no-deps ./athanor_x-1-py3-none-any.whl >&2
  test "$(python3 -c 'import athanor_x; print(athanor_x.mark)')" = made
  echo pip
fi
if command -v npm > /dev/null && npm --version > /dev/null 2>&1; then
  npm config set fund false
  mkdir package app
  echo '{"name": "athanor-x", "version": "1.0.0"}' > package/package.json
  npm install --offline --silent --no-audit --prefix app ./package > /dev/null
  test -e app/node_modules/athanor-x/package.json
  [ $(id -u) != 0 ] || npm install --offline --silent --no-audit -g ./package > /dev/null
  echo npm
fi
echo done
)sh";

// Files of this machine that these tools change where nothing stops them.
std::vector<std::string> config_files() {
  const passwd* user = ::getpwuid(::geteuid());
  const std::string home = user == nullptr ? "/root" : user->pw_dir;
  std::vector<std::string> files{"/etc/gitconfig", "/etc/npmrc", "/usr/etc/npmrc", "/etc/pip.conf"};
  for (const char* name :
       {"/.ssh/config", "/.ssh/known_hosts", "/.gitconfig", "/.config/git/config", "/.npmrc",
        "/.config/pip/pip.conf", "/.pip/pip.conf", "/.netrc", "/.profile", "/.bashrc"}) {
    files.push_back(home + name);
  }
  return files;
}

// What is in a file and when that was written; "none" without one.
std::string trace_of(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) {
    return "none";
  }
  return fmt::format("{}.{:09} {}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec, read_text(file));
}

// As the examples of Tekton and others do: each of these left files in the home of root.
TEST_F(LayeredRoot, KeepsFilesOfGitPipAndNpmInside) {
  const std::vector<std::string> folders{"/root",      "/etc",     "/home",   "/usr/lib",
                                         "/usr/local", "/var/lib", "/var/tmp"};
  std::vector<std::set<std::string>> before;
  for (const std::string& folder : folders) {
    before.push_back(paths_below(folder));
  }
  std::vector<std::string> traces;
  for (const std::string& file : config_files()) {
    traces.push_back(trace_of(file));
  }
  PodLab lab;
  lab.start(pod_of(kToolSteps));
  EXPECT_EQ(container_of(lab.wait_end("p"), "c")["exitCode"].as_int(-1), 0) << lab.log("p", "c");
  const std::string log = lab.log("p", "c");
  EXPECT_TRUE(log.starts_with("git\n") && log.ends_with("done\n")) << log;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    for (const std::string& path : paths_below(folders[i])) {
      const bool ours = path.find("athanor-x") != std::string::npos ||
                        path.find("athanor_x") != std::string::npos;
      EXPECT_TRUE(before[i].contains(path) || !ours) << path;
    }
  }
  for (std::size_t i = 0; i < traces.size(); ++i) {
    EXPECT_EQ(trace_of(config_files()[i]), traces[i]) << config_files()[i];
  }
}

TEST_F(LayeredRoot, TheLayerVanishesWithTheContainer) {
  PodLab lab;
  lab.start(pod_of("mkdir -p /opt/a/b; chmod 0 /opt/a; echo x > /tmp/f; echo up; exec sleep 1000"));
  ASSERT_TRUE(eventually([&] { return lab.log("p", "c") == "up\n"; }));
  const std::string layers = lab.folder() + "/pods/uid-p/layers";
  EXPECT_FALSE(std::filesystem::is_empty(layers));
  lab.runtime().stop("uid-p", std::chrono::milliseconds(0));
  lab.wait_end("p");
  EXPECT_TRUE(eventually([&] { return std::filesystem::is_empty(layers); }));
}

TEST_F(LayeredRoot, HomesAndKeysAreNotInView) {
  PodLab lab;
  const char* script =
      "ls -A /root /home/* 2>/dev/null | grep -v ':$' | grep .; ls /etc/ssh/*_key 2>/dev/null; "
      "test -d /root && echo $(hostname)";
  EXPECT_EQ(output_of(lab, pod_of(script)), "h-0\n");
}

TEST_F(LayeredRoot, HomesComeBackWhereTheLabSaysSo) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root may write into the home of root";
  }
  std::string home = "/root/athanor-home-XXXXXX";
  ASSERT_NE(::mkdtemp(home.data()), nullptr);
  write_text(home + "/f", "seen\n");
  PodLab lab;
  EXPECT_EQ(output_of(lab, pod_of("cat " + home + "/f 2>/dev/null || echo hidden")), "hidden\n");
  lab.own_folders.clear();
  lab.restart();
  lab.runtime().keep_only({});
  EXPECT_EQ(output_of(lab, pod_of(fmt::format("cat {0}/f; echo inside > {0}/f; cat {0}/f", home))),
            "seen\ninside\n");
  EXPECT_EQ(read_text(home + "/f"), "seen\n");
  std::filesystem::remove_all(home);
}

TEST_F(LayeredRoot, AReadOnlyRootIsReadOnly) {
  PodLab lab;
  const std::string log = output_of(
      lab,
      "{name: p, volumes: [{name: v, type: empty}], containers: [{name: c, readOnlyRoot: true, "
      "mounts: [{volume: v, path: /data/in}], command: [/bin/sh, -c, 'for d in / /etc /usr /tmp "
      "/var/tmp /root /data; do touch $d/x 2>/dev/null && echo $d; done; touch /data/in/x && echo "
      "volume; touch /dev/shm/x && echo shared; (echo evil > /etc/hostname) 2>/dev/null && echo "
      "named']}]}");
  EXPECT_EQ(log, "volume\nshared\n");
}

TEST_F(LayeredRoot, DevicesOfTheHostAreNotInView) {
  PodLab lab;
  EXPECT_EQ(
      output_of(lab, pod_of("ls /dev | grep -c '^[sv]d[a-z]'; echo x > /dev/null; head -c 1 "
                            "/dev/zero | wc -c; ls /dev/pts; test -w /sys/kernel/x && echo w; "
                            "touch /sys/x 2>/dev/null || echo sealed")),
      "0\n1\nptmx\nsealed\n");
}

TEST_F(LayeredRoot, MadeDevicesDoNotOpen) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root may make device files";
  }
  PodLab lab;
  EXPECT_EQ(output_of(lab,
                      "{name: p, volumes: [{name: v, type: empty}], containers: [{name: c, mounts: "
                      "[{volume: v, path: /v}], command: [/bin/sh, -c, 'for d in /v /dev /tmp /opt "
                      "/dev/shm /dev/mqueue; do mknod $d/made c 1 3 && (echo x > $d/made) "
                      "2>/dev/null && echo $d; done; echo x > /dev/null && echo null']}]}"),
            "null\n");
}

TEST_F(LayeredRoot, MountsAppearInFoldersOfTheHost) {
  PodLab lab;
  lab.start(
      "{name: p, volumes: [{name: v, type: files, files: [{path: f, data: dG9r}]}], containers: "
      "[{name: c, workingDir: /usr/share/made/here, mounts: [{volume: v, path: /usr/share/a/b/c}, "
      "{volume: v, path: /etc/ssl/x/f, subPath: f}, {volume: v, path: /etc/hostname, subPath: f}], "
      "command: [/bin/sh, -c, 'cat /usr/share/a/b/c/f /etc/ssl/x/f /etc/hostname; echo; pwd; ls -d "
      "/usr/share/doc']}]}");
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "c"), "toktoktok\n/usr/share/made/here\n/usr/share/doc\n");
}

TEST(MountTable, ReadsMountPoints) {
  EXPECT_EQ(mount_points_of("22 1 8:1 / / rw - ext4 /dev/a rw\n"
                            "23 22 0:5 / /mnt/with\\040blank rw shared:1 - tmpfs x rw\n"
                            "24 22 0:5 / /mnt rw - tmpfs x rw\n24 22 0:5 / /mnt rw - tmpfs x rw\n"
                            "broken\n"),
            (std::vector<std::string>{"/", "/mnt", "/mnt/with blank"}));
  EXPECT_TRUE(is_below("/a/b", "/a"));
  EXPECT_TRUE(is_below("/a", "/"));
  EXPECT_FALSE(is_below("/ab", "/a"));
}

TEST(FolderRemoval, RemovesDeepAndClosedFoldersNotLinkTargets) {
  std::string folder = testing::TempDir() + "athanor-remove-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string outside = folder + ".outside";
  std::filesystem::create_directories(outside);
  write_text(outside + "/kept", "kept");
  std::filesystem::create_directory_symlink(outside, folder + "/link");
  std::string path = folder;
  for (int i = 0; i < 300; ++i) {
    path += "/d";
  }
  std::filesystem::create_directories(path);
  write_text(path + "/f", "x");
  std::filesystem::create_directories(folder + "/closed/in");
  std::filesystem::permissions(folder + "/closed", std::filesystem::perms::none);
  remove_folder(folder);
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(read_text(outside + "/kept"), "kept");
  std::filesystem::remove_all(outside);
}

}  // namespace
}  // namespace athanor::nodes::layered_root_test
