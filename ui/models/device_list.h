// SPDX-License-Identifier: GPL-3.0-or-later
// What can compute here. To know the GPUs the CUDA module has to be loaded, which happens beside the window.
#pragma once

#include <QObject>
#include <thread>
#include <vector>

#include "engine/backend/backend_registry.h"

namespace halfscope {

class DeviceList : public QObject {
    Q_OBJECT
public:
    static DeviceList& instance(); // of the application, with which it goes

    // Looks again, unless it is looking; found() comes later.
    void look();
    bool isLooking() const { return m_looking; }
    // As found last; before that one for each backend, without names of GPUs.
    const std::vector<DeviceInfo>& devices() const { return m_devices; }

signals:
    void found();

private:
    explicit DeviceList(QObject* parent);
    ~DeviceList() override;

    std::vector<DeviceInfo> m_devices;
    std::thread m_thread;
    bool m_looking = false;
};

} // namespace halfscope
