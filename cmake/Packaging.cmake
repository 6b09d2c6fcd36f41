# SPDX-License-Identifier: GPL-3.0-or-later
# What is installed beside the program, where desktops look for it. The program sets "halfscope" as the name of its
# desktop entry and of its icon.
install(FILES resources/halfscope.desktop DESTINATION "${CMAKE_INSTALL_DATADIR}/applications")
install(FILES resources/org.halfscope.HalfScope.metainfo.xml DESTINATION "${CMAKE_INSTALL_DATADIR}/metainfo")
install(FILES resources/icons/halfscope.svg DESTINATION "${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
