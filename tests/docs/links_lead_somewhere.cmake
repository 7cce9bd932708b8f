# Every relative link of every page names a file that exists.

file(GLOB pages ${SOURCE_DIR}/*.md ${SOURCE_DIR}/docs/*.md ${SOURCE_DIR}/docs/*/*.md)
foreach(page ${pages})
  get_filename_component(directory ${page} DIRECTORY)
  file(READ ${page} text)
  # Brackets would keep CMake from splitting the list of matches.
  string(REPLACE "](" "\nlink:" text "${text}")
  string(REGEX MATCHALL "\nlink:[^)#:]+\\)" links "${text}")
  foreach(link ${links})
    string(REGEX REPLACE "\nlink:(.*).$" "\\1" target ${link})
    if(NOT EXISTS ${directory}/${target})
      message(SEND_ERROR "${page}: no ${target}")
    endif()
  endforeach()
endforeach()
