#ifndef CFNETWORK_CFNETWORK_H
#define CFNETWORK_CFNETWORK_H

#include <CFNetwork/CFNetworkDefs.h>
#include <CFNetwork/CFNetworkErrors.h>
#include <CFNetwork/CFHTTPMessage.h>

#endif
