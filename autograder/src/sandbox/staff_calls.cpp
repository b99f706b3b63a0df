// The calls of the staff's own runner: the ceilings of the host part, called like a student's function.
#include <lab/call.hpp>

#include "lab/ceilings.hpp"

namespace {

constexpr char read[] = "read", triad[] = "triad", fma[] = "fma", eigen[] = "eigen", tanh[] = "tanh", file[] = "file",
               threads[] = "threads", prefixes[] = "prefixes";

template <const char* name>
void run(const lab::call& c) {
  lab::run_host_ceiling(name, c.inputs, c.outputs, c.parameters);
}

constexpr lab::entry table[] = {{read, lab::part::host, run<read>},       {triad, lab::part::host, run<triad>},
                                {fma, lab::part::host, run<fma>},         {eigen, lab::part::host, run<eigen>},
                                {tanh, lab::part::host, run<tanh>},       {file, lab::part::host, run<file>},
                                {threads, lab::part::host, run<threads>}, {prefixes, lab::part::host, run<prefixes>}};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
