// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/settings/remembered_device.h"

#include "engine/backend/backend_registry.h"

namespace halfscope {

void rememberDevice(Settings& settings, const RunConfig& config)
{
    settings.setDevice(QString::fromStdString(config.backend), QString::fromStdString(config.device));
}

void useRememberedDevice(const Settings& settings, RunConfig& config)
{
    const std::string backend = settings.deviceBackend().toStdString();
    const std::string device = settings.deviceId().toStdString();
    if (backend.empty() || !isDeviceName(device)) {
        return;
    }
    config.backend = backend == kGpuBackend ? kAutomaticBackend : backend;
    config.device = device;
}

} // namespace halfscope
