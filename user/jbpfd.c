// SPDX-License-Identifier: Apache-2.0
/* jbpfd, the daemon: see user/cmd/daemon.h. */
#include "user/cmd/daemon.h"

int main(int argc, char **argv)
{
	return daemon_main(argc, argv);
}
