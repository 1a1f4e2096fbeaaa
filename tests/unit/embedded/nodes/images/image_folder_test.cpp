// SPDX-License-Identifier: Apache-2.0
// Images of archives and layouts, and archives that want to leave their place.
#include "embedded/nodes/images/image_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.hpp"
#include "base/files/folder.hpp"
#include "base/files/text_file.hpp"
#include "embedded/nodes/image_entrypoints.hpp"
#include "kube/text/json.hpp"

namespace athanor::nodes::image_folder_test {
namespace {

namespace fs = std::filesystem;

// One entry of an archive.
struct Entry {
  std::string path{};
  char type = '0';
  std::string data{};  // content, or where a link leads
  unsigned mode = 0644;
};

std::string octal(std::uint64_t number, int digits) {
  std::string text(static_cast<std::size_t>(digits), '0');
  for (int i = digits - 1; i >= 0; --i, number /= 8) {
    text[static_cast<std::size_t>(i)] = static_cast<char>('0' + number % 8);
  }
  return text + '\0';
}

std::string archive_of(const std::vector<Entry>& entries) {
  std::string result;
  for (const Entry& entry : entries) {
    std::string header(512, '\0');
    const bool link = entry.type == '1' || entry.type == '2';
    const std::string content = link ? "" : entry.data;
    header.replace(0, entry.path.size(), entry.path);
    header.replace(100, 8, octal(entry.mode, 7));
    header.replace(108, 8, octal(::getuid(), 7));
    header.replace(116, 8, octal(::getgid(), 7));
    header.replace(124, 12, octal(content.size(), 11));
    header[156] = entry.type;
    if (link) {
      header.replace(157, entry.data.size(), entry.data);
    }
    header.replace(257, 8,
                   std::string("ustar\0"
                               "00",
                               8));
    header.replace(148, 8, "        ");
    std::uint64_t sum = 0;
    for (const char byte : header) {
      sum += static_cast<unsigned char>(byte);
    }
    header.replace(148, 8, octal(sum, 6) + " ");
    result += header + content + std::string((512 - content.size() % 512) % 512, '\0');
  }
  return result + std::string(1024, '\0');
}

void write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

class ImageFolderTest : public testing::Test {
 protected:
  ImageFolderTest() : folder_(testing::TempDir() + "athanor-images-XXXXXX") {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  ~ImageFolderTest() override { fs::remove_all(folder_); }

  // As podman save writes it.
  std::string saved(const std::vector<std::vector<Entry>>& layers) const {
    std::vector<Entry> entries;
    Value names = Value::list();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::string name = "layer" + std::to_string(i) + ".tar";
      names.push_back(name);
      entries.push_back({.path = name, .data = archive_of(layers[i])});
    }
    const Value manifest = Value::list({Value::object(
        {{"Config", "config.json"}, {"RepoTags", Value::list({"tool:1"})}, {"Layers", names}})});
    entries.push_back({.path = "config.json",
                       .data = R"({"config":{"Entrypoint":["/bin/tool"],"Cmd":["-x"],"Env":)"
                               R"(["A=b"],"User":"worker","WorkingDir":"/w"}})"});
    entries.push_back({.path = "manifest.json", .data = json::print(manifest)});
    const std::string path = folder_ + "/saved.tar";
    write(path, archive_of(entries));
    return path;
  }

  Result<LoadedImage> load(const std::vector<std::vector<Entry>>& layers) const {
    std::vector<std::vector<Entry>> all{
        {{.path = "etc/passwd", .data = "root:x:0:0::/:/bin/sh\nworker:x:77:78::/:/bin/sh\n"}}};
    all.insert(all.end(), layers.begin(), layers.end());
    return ImageFolder(folder_).load(saved(all), "");
  }

  // What a file of the loaded image holds; "none" where there is no such file.
  std::string text(const std::string& path) const {
    for (const Value& image : ImageFolder(folder_).list()) {
      const auto found = read_text_file(folder_ + "/images/" + image["id"].str() + "/root/" + path);
      return found.ok() ? *found : "none";
    }
    return "no image";
  }

  std::string folder_;
};

TEST_F(ImageFolderTest, LoadsSavedArchives) {
  const auto image = load({{{.path = "bin/tool", .data = "one", .mode = 04755},
                            {.path = "dir/", .type = '5', .mode = 0755},
                            {.path = "dir/gone", .data = "x"}},
                           {{.path = "./bin/tool", .data = "two"},
                            {.path = "dir/.wh.gone"},
                            {.path = "dev/null", .type = '3'}}});
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->value["name"], Value("docker.io/library/tool:1"));
  EXPECT_EQ(image->value["user"], Value(77));
  EXPECT_EQ(image->value["group"], Value(78));
  EXPECT_EQ(json::print(image->value["entrypoint"]), R"(["/bin/tool"])");
  EXPECT_EQ(image->tally.devices, 1);
  EXPECT_EQ(image->tally.rights, 1);
  EXPECT_EQ(text("bin/tool"), "two");
  EXPECT_EQ(text("dir/gone"), "none");
}

TEST_F(ImageFolderTest, LoadsLayouts) {
  const std::string layout = folder_ + "/layout";
  const auto add = [&](const std::string& bytes) {
    const std::string digest = sha256_hex(bytes);
    write(layout + "/blobs/sha256/" + digest, bytes);
    return "sha256:" + digest;
  };
  const std::string layer = add(archive_of({{.path = "hello", .data = "world"}}));
  const std::string config = add(R"({"config":{"Cmd":["/hello"]}})");
  const std::string manifest =
      add(R"({"config":{"digest":")" + config + R"("},"layers":[{"digest":")" + layer + R"("}]})");
  write(layout + "/index.json", R"({"manifests":[{"digest":")" + manifest + R"("}]})");
  EXPECT_EQ(ImageFolder(folder_).load(layout, "").error().code, 409);
  ASSERT_TRUE(ImageFolder(folder_).load(layout, "mine/hello").ok());
  EXPECT_EQ(text("hello"), "world");
  EXPECT_EQ(ImageFolder(folder_).list().at(0)["name"], Value("docker.io/mine/hello:latest"));
  ASSERT_TRUE(ImageFolder(folder_).remove("mine/hello").ok());
  EXPECT_TRUE(ImageFolder(folder_).list().empty());
  EXPECT_EQ(ImageFolder(folder_).remove("mine/hello").error().code, 404);
}

TEST_F(ImageFolderTest, RefusesPathsThatLeaveTheRoot) {
  const std::string outside = folder_ + "/outside";
  for (const std::vector<Entry>& layer : std::vector<std::vector<Entry>>{
           {{.path = "../../../outside", .data = "x"}},
           {{.path = "a/../../outside", .data = "x"}},
           {{.path = "hard", .type = '1', .data = "../../../saved.tar"}}}) {
    const auto image = load({layer});
    ASSERT_FALSE(image.ok());
    EXPECT_NE(image.error().message.find("leaves the image's root"), std::string::npos)
        << image.error().message;
  }
  EXPECT_FALSE(fs::exists(outside));
  EXPECT_TRUE(ImageFolder(folder_).list().empty());
  EXPECT_EQ(names_in_folder(folder_ + "/images"), std::vector<std::string>());
}

TEST_F(ImageFolderTest, FollowsLinksWithinTheRoot) {
  const auto image = load({{{.path = "up", .type = '2', .data = folder_},
                            {.path = "far", .type = '2', .data = "../../../../../.."},
                            {.path = "up/outside", .data = "x"},
                            {.path = "far/outside", .data = "y"}}});
  // The link leads to a folder of the image that is not there, or to the image's root.
  EXPECT_FALSE(fs::exists(folder_ + "/outside"));
  EXPECT_FALSE(fs::exists("/outside"));
  if (image.ok()) {
    EXPECT_EQ(text("outside"), "y");
  }
}

TEST_F(ImageFolderTest, ReadsNoFileOutsideOfArchive) {
  write(folder_ + "/outside.tar", archive_of({{.path = "secret", .data = "s"}}));
  const std::string config = R"({"config":{"Cmd":["x"]}})";
  for (const std::string& way : {folder_ + "/outside.tar", std::string("../../../outside.tar")}) {
    const std::string path = folder_ + "/linked.tar";
    write(
        path,
        archive_of(
            {{.path = "layer.tar", .type = '2', .data = way},
             {.path = "config.json", .data = config},
             {.path = "manifest.json",
              .data = R"([{"Config":"config.json","RepoTags":["l:1"],"Layers":["layer.tar"]}])"}}));
    const auto loaded = ImageFolder(folder_).load(path, "");
    ASSERT_FALSE(loaded.ok()) << way;
    EXPECT_EQ(loaded.error().message, "no image: layer.tar is no file in it");
  }
  write(folder_ + "/manifest.json", "[]");
  for (const char* name : {"manifest.json", "index.json"}) {
    const std::string path = folder_ + "/index.tar";
    write(path, archive_of({{.path = name, .type = '2', .data = folder_ + "/manifest.json"}}));
    const auto loaded = ImageFolder(folder_).load(path, "n:1");
    ASSERT_FALSE(loaded.ok()) << name;
    EXPECT_NE(loaded.error().message.find("is no file in it"), std::string::npos)
        << loaded.error().message;
  }
}

TEST_F(ImageFolderTest, FollowsLinksBetweenLayers) {
  const std::string layer = archive_of({{.path = "f", .data = "one"}});
  const std::string path = folder_ + "/old.tar";  // as docker of before 25 writes equal layers
  write(path, archive_of({{.path = "a/layer.tar", .data = layer},
                          {.path = "b/layer.tar", .type = '2', .data = "../a/layer.tar"},
                          {.path = "config.json", .data = R"({"config":{"Cmd":["x"]}})"},
                          {.path = "manifest.json",
                           .data = R"([{"Config":"config.json","RepoTags":["o:1"],)"
                                   R"("Layers":["b/layer.tar"]}])"}}));
  ASSERT_TRUE(ImageFolder(folder_).load(path, "").ok());
  EXPECT_EQ(text("f"), "one");
}

TEST_F(ImageFolderTest, RefusesHugeImages) {
  const std::string path = saved({{{.path = "big", .data = std::string(100'000, 'x')}}});
  const auto image = ImageFolder(folder_).load(path, "", {}, {.bytes = 50'000});
  ASSERT_FALSE(image.ok());
  EXPECT_NE(image.error().message.find("larger than"), std::string::npos);
  const auto many = ImageFolder(folder_).load(path, "", {}, {.entries = 1});
  EXPECT_FALSE(many.ok());
}

TEST_F(ImageFolderTest, RefusesDamagedArchives) {
  const auto whole = read_text_file(saved({{{.path = "f", .data = std::string(3000, 'x')}}}));
  ASSERT_TRUE(whole.ok());
  for (std::size_t size = 0; size < whole->size() - 1024; size += 211) {
    write(folder_ + "/cut.tar", whole->substr(0, size));
    EXPECT_FALSE(ImageFolder(folder_).load(folder_ + "/cut.tar", "n").ok()) << size;
  }
}

TEST(ImageNames, AreCompletedBeforeTheyAreCompared) {
  EXPECT_EQ(full_image_name("python"), "docker.io/library/python:latest");
  EXPECT_EQ(full_image_name("python:3@sha256:00"), "docker.io/library/python:3");
  EXPECT_EQ(full_image_name("a/b"), "docker.io/a/b:latest");
  EXPECT_EQ(full_image_name("localhost:5000/b"), "localhost:5000/b:latest");
  EXPECT_EQ(full_image_name("quay.io/x/y:1"), "quay.io/x/y:1");
  EXPECT_EQ(full_image_name(""), "");
}

TEST(ImageNames, FindImagesWithAnyTag) {
  const Value images = Value::list(
      {Value::object({{"name", "docker.io/library/a:1"}}), Value::object({{"name", "team/b"}})});
  EXPECT_TRUE(find_image(images, "a:1").is_object());
  EXPECT_FALSE(find_image(images, "a:2").is_object());
  EXPECT_TRUE(find_image(images, "team/b:7").is_object());
  EXPECT_FALSE(find_image(images, "other/b").is_object());
}

TEST(ImageNames, CommandsFollowKubernetes) {
  const Value image = json::parse(R"({"entrypoint":["e"],"cmd":["c"]})").value();
  const auto command = [&](const char* own, const char* args) {
    return json::print(
        command_of_image(image, json::parse(own).value(), json::parse(args).value()));
  };
  EXPECT_EQ(command("null", "null"), R"(["e","c"])");
  EXPECT_EQ(command("null", R"(["a"])"), R"(["e","a"])");
  EXPECT_EQ(command(R"(["x"])", "null"), R"(["x"])");
  EXPECT_EQ(command(R"(["x"])", R"(["a"])"), R"(["x","a"])");
}

}  // namespace
}  // namespace athanor::nodes::image_folder_test
