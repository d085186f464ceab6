# find_package(tideline) gives the target tideline::tideline.
if(NOT TARGET tideline::tideline)
  get_filename_component(_tideline_prefix "@PREFIX@" ABSOLUTE)
  add_library(tideline::tideline SHARED IMPORTED)
  set_target_properties(tideline::tideline PROPERTIES
    IMPORTED_LOCATION "${_tideline_prefix}/@LIBDIR@/libtideline.so.@VERSION@"
    IMPORTED_SONAME libtideline.so.1
    INTERFACE_INCLUDE_DIRECTORIES "${_tideline_prefix}/include")
  unset(_tideline_prefix)
endif()
