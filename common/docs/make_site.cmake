# Builds the site. Doxygen writes the page header for its version, and the theme's scripts go into it. cmake -D DOXYGEN=...
# -D DOXYFILE=... -D OUT=... -D COURSEDOCS=... -D SOURCE=... -D MATHJAX=... -P make_site.cmake
file(REMOVE_RECURSE ${OUT}/html)
file(MAKE_DIRECTORY ${OUT}/html)
execute_process(COMMAND ${DOXYGEN} -w html header.html footer.html style.css WORKING_DIRECTORY ${OUT}
                OUTPUT_QUIET ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(READ ${OUT}/header.html header)
string(REPLACE "</head>" [[
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="description" content="$title: a lab course in C++ and CUDA on making LLM kernels fast"/>
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M1 14L9 5h6' fill='none' stroke='%231f6feb' stroke-width='3'/%3E%3C/svg%3E"/>
<script type="text/javascript" src="$relpath^doxygen-awesome-darkmode-toggle.js"></script>
<script type="text/javascript" src="$relpath^doxygen-awesome-fragment-copy-button.js"></script>
<script type="text/javascript" src="$relpath^doxygen-awesome-interactive-toc.js"></script>
<script type="text/javascript" src="$relpath^glossary.js"></script>
<script type="text/javascript" src="$relpath^site.js"></script>
<script type="text/javascript">
DoxygenAwesomeDarkModeToggle.init(); DoxygenAwesomeFragmentCopyButton.init(); DoxygenAwesomeInteractiveToc.init();
</script>
</head>]] header "${header}")
string(REPLACE "<html " "<html lang=\"en\" " header "${header}")
string(REGEX REPLACE "<!DOCTYPE [^>]*>" "<!DOCTYPE html>" header "${header}")
file(WRITE ${OUT}/header.html "${header}")

execute_process(COMMAND ${DOXYGEN} ${DOXYFILE} RESULT_VARIABLE failed)
file(READ ${OUT}/warnings.txt warnings)
if(failed OR NOT warnings STREQUAL "")
  message(FATAL_ERROR "Doxygen is not content:\n${warnings}")
endif()
# Most pages have no formulas and need not load MathJax.
execute_process(COMMAND sh -c "grep -L 'class=\"formula' *.html | xargs sed -i '/src=\"mathjax\\/MathJax.js\"/d'"
                WORKING_DIRECTORY ${OUT}/html COMMAND_ERROR_IS_FATAL ANY)
# Only the parts of MathJax for TeX input and SVG output; its fonts are in the SVG's outlines.
foreach(part IN ITEMS MathJax.js config/TeX-AMS_SVG.js config/TeX-AMS_SVG-full.js extensions jax/element jax/input/TeX jax/output/SVG)
  get_filename_component(folder mathjax/${part} DIRECTORY)
  file(REAL_PATH ${MATHJAX}/${part} from)
  file(COPY ${from} DESTINATION ${OUT}/html/${folder})
endforeach()
execute_process(COMMAND ${COURSEDOCS} files ${SOURCE} ${OUT}/html COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${COURSEDOCS} site ${OUT}/html COMMAND_ERROR_IS_FATAL ANY)
