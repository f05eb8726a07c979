// SPDX-License-Identifier: Apache-2.0
/* jbpf, the client: see user/cmd/cmd.h. */
#include "user/cmd/cmd.h"

int main(int argc, char **argv)
{
	return cmd_main(argc, argv);
}
