// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/device_list.h"

#include <QCoreApplication>
#include <QPointer>

namespace halfscope {

DeviceList& DeviceList::instance()
{
    static QPointer<DeviceList> list;
    if (list.isNull()) {
        list = new DeviceList(QCoreApplication::instance());
    }
    return *list;
}

DeviceList::DeviceList(QObject* parent) : QObject(parent)
{
    for (const BackendInfo& backend : listBackends()) {
        m_devices.push_back({backend.key, "", backend.name, backend.reason, {}, {}});
    }
}

DeviceList::~DeviceList()
{
    if (m_thread.joinable()) {
        m_thread.join();
    }
}

void DeviceList::look()
{
    if (m_looking) {
        return;
    }
    if (m_thread.joinable()) {
        m_thread.join(); // it has delivered
    }
    m_looking = true;
    m_thread = std::thread([this] {
        std::vector<DeviceInfo> devices = listDevices();
        QMetaObject::invokeMethod(
            this,
            [this, devices = std::move(devices)]() mutable {
                m_devices = std::move(devices);
                m_looking = false;
                emit found();
            },
            Qt::QueuedConnection);
    });
}

} // namespace halfscope
