// SPDX-License-Identifier: Apache-2.0
/* jbpfd, the daemon: see user/daemon/daemon.h. */
#include "user/daemon/daemon.h"

int main(int argc, char **argv)
{
	return daemon_main(argc, argv);
}
