# SPDX-License-Identifier: GPL-3.0-or-later
# What is installed beside the program, where desktops look for it.
set(application_id org.halfscope.HalfScope)
install(FILES resources/${application_id}.desktop DESTINATION "${CMAKE_INSTALL_DATADIR}/applications")
install(FILES resources/${application_id}.metainfo.xml DESTINATION "${CMAKE_INSTALL_DATADIR}/metainfo")
install(FILES resources/icons/halfscope.svg RENAME ${application_id}.svg
        DESTINATION "${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
