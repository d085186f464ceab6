/* The shared library has no code of its own: this target exists so that the
   soname, the version script and the static runtime stay out of the tests. */
extern int tideline_library_anchor;
int tideline_library_anchor = 1;
