#ifndef CFNETWORK_CFNETWORK_H
#define CFNETWORK_CFNETWORK_H

#include <CFNetwork/CFNetworkDefs.h>
#include <CFNetwork/CFNetworkErrors.h>
#include <CFNetwork/CFHost.h>
#include <CFNetwork/CFNetServices.h>
#include <CFNetwork/CFSocketStream.h>
#include <CFNetwork/CFHTTPMessage.h>
#include <CFNetwork/CFHTTPStream.h>
#include <CFNetwork/CFHTTPAuthentication.h>
#include <CFNetwork/CFFTPStream.h>
#include <CFNetwork/CFProxySupport.h>
#include <CFNetwork/CFNetDiagnostics.h>

#endif
