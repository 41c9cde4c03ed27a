#ifndef CORESERVICES_CORESERVICES_H
#define CORESERVICES_CORESERVICES_H

// The part of Apple's CoreServices that exists on Linux.
#include <CFNetwork/CFNetwork.h>

#endif
