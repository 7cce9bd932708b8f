# quire_implementation(<id> <source> [REQUIRES <feature>]): one line adds an implementation.
#
# <id> is the C++ name of the source's one `constinit const Implementation` object in namespace quire, and, with dashes
# for underscores, the implementation's name. Position in the list is preference: best first. Where the feature
# (BLAS) is missing the source is not compiled, and the list gets an entry that says so.
#
# quire_generate_registry() then writes the list as a source file and adds it to the library.

function(quire_implementation id source)
  cmake_parse_arguments(arg "" "REQUIRES" "" ${ARGN})
  if(arg_REQUIRES AND NOT QUIRE_HAS_${arg_REQUIRES})
    string(REPLACE "_" "-" name ${id})
    string(REGEX MATCH "^[a-z]+" backend ${id})
    string(SUBSTRING ${backend} 0 1 initial)
    string(TOUPPER ${initial} initial)
    string(SUBSTRING ${backend} 1 -1 rest)
    string(APPEND declaration
      "constinit const Implementation ${id} = {.name = \"${name}\", .backend = DeviceKind::k${initial}${rest}, "
      ".unavailable = \"built without ${arg_REQUIRES}\"};\n")
  else()
    target_sources(quire PRIVATE ${source})
    string(APPEND declaration "extern const Implementation ${id};\n")
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY QUIRE_IMPLEMENTATION_DECLARATIONS "${declaration}")
  set_property(GLOBAL APPEND_STRING PROPERTY QUIRE_IMPLEMENTATION_POINTERS "    &${id},\n")
endfunction()

function(quire_generate_registry)
  get_property(declarations GLOBAL PROPERTY QUIRE_IMPLEMENTATION_DECLARATIONS)
  get_property(pointers GLOBAL PROPERTY QUIRE_IMPLEMENTATION_POINTERS)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/implementation_list.cpp CONTENT
"// Generated from src/CMakeLists.txt.
#include \"quire/implementation.h\"

namespace quire {

${declarations}
namespace {
constinit const Implementation* const kImplementations[] = {
${pointers}};
}  // namespace

std::span<const Implementation* const> implementations() noexcept { return kImplementations; }

}  // namespace quire
")
  target_sources(quire PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/implementation_list.cpp)
endfunction()
