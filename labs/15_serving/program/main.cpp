// Your scheduler, pager and products behind OpenAI's interface: serves a number of requests, then prints its figures.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <thread>

#include "endpoint.hpp"

int main(int count, char** words) try {
  std::string folder = TINY_LLAMA, tokens, host = "127.0.0.1";
  int port = 8015, slots = 16, pages = 256, requests = 1000;
  CLI::App app("Serves a Llama with lab 15's files, on one core.");
  app.add_option("--model", folder, "a folder in Hugging Face's format")->capture_default_str();
  app.add_option("--tokenizer", tokens, "a folder with vocab.json and merges.txt; as a rule the model's");
  app.add_option("--host", host, "where to listen")->capture_default_str();
  app.add_option("--port", port)->check(CLI::Range(1, 65535))->capture_default_str();
  app.add_option("--slots", slots, "sequences in a batch")->check(CLI::Range(1, 128))->capture_default_str();
  app.add_option("--pages", pages, "of 16 tokens")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--requests", requests, "to serve before it ends")->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, count, words);

  using namespace lab15;
  const llama::checkpoint model = llama::read_folder(folder);
  // The course's own two small models use the same tokens.
  const gpt2::tokenizer text{std::filesystem::path(!tokens.empty()        ? tokens
                                                   : folder == TINY_LLAMA ? TINY_GPT2
                                                                          : folder)};
  live_engine engine(model, slots, pages, requests);
  httplib::Server server;
  offer_completions(server, engine, text);
  if (!server.bind_to_port(host, port))
    throw llama::model_error(fmt::format("cannot listen at {}:{}; is it in use? --port takes another", host, port));
  std::thread listener([&] { server.listen_after_bind(); });
  fmt::print("http://{}:{}/v1/completions takes {} requests\n", host, port, requests);
  std::fflush(stdout);
  const auto start = std::chrono::steady_clock::now();
  std::string wrong;
  try {
    serve(engine);
  } catch (const std::exception& e) {
    engine.fail(wrong = std::string("your files end the server: ") + e.what());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  server.stop();  // once all answers are sent
  listener.join();
  const live_engine::figures& seen = engine.seen();
  fmt::print("{} steps made {} tokens ({:.1f} a step) in {:.1f} s since the start; {} preemptions\n", seen.steps,
             seen.generated, seen.steps ? static_cast<double>(seen.generated) / seen.steps : 0.0, seconds,
             seen.preemptions);
  fmt::print("admissions computed {} tokens, and found {} in shared pages\n", seen.computed, seen.shared);
  if (!wrong.empty()) throw std::runtime_error(wrong);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "endpoint: {}\n", e.what());
  return 1;
}
